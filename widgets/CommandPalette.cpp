// SPDX-License-Identifier: GPL-3.0-or-later
#include "CommandPalette.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>

namespace driftscope {
namespace {

constexpr int paletteWidth = 640;
constexpr int paletteHeight = 420;
constexpr int rowPadding = 5;
constexpr int gap = 12;

/// Title, then its menu in a muted colour, and the shortcut on the right.
class CommandDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;

    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override {
        QStyleOptionViewItem row = option;
        initStyleOption(&row, index);
        const QString title = std::exchange(row.text, QString());
        const QStyle* style = row.widget ? row.widget->style() : QApplication::style();
        style->drawControl(QStyle::CE_ItemViewItem, &row, painter, row.widget);
        const bool isSelected = row.state.testFlag(QStyle::State_Selected);
        const QColor strong =
            row.palette.color(isSelected ? QPalette::HighlightedText : QPalette::Text);
        const QColor muted =
            isSelected ? strong : row.palette.color(QPalette::PlaceholderText);
        QRect area = row.rect.adjusted(gap, 0, -gap, 0);
        const auto draw = [&](const QString& text, const QColor& color, Qt::Alignment side) {
            painter->setPen(color);
            painter->drawText(area, static_cast<int>(side | Qt::AlignVCenter),
                              row.fontMetrics.elidedText(text, Qt::ElideRight, area.width()));
            const int used = row.fontMetrics.horizontalAdvance(text) + gap;
            side.testFlag(Qt::AlignRight) ? area.adjust(0, 0, -used, 0)
                                          : area.adjust(used, 0, 0, 0);
        };
        painter->save();
        painter->setFont(row.font);
        draw(index.data(CommandModel::ShortcutRole).toString(), muted, Qt::AlignRight);
        draw(title, strong, Qt::AlignLeft);
        draw(index.data(CommandModel::PlaceRole).toString(), muted, Qt::AlignLeft);
        painter->restore();
    }
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                                 const QModelIndex&) const override {
        return {paletteWidth / 2, option.fontMetrics.height() + 2 * rowPadding};
    }
};

} // namespace

CommandPalette::CommandPalette(QWidget* parent)
    : QDialog(parent), m_model(new CommandModel(this)), m_typed(new QLineEdit(this)),
      m_list(new QListView(this)), m_tip(new QLabel(this)) {
    setObjectName(QStringLiteral("paletteDialog"));
    setWindowTitle(tr("Commands"));
    m_typed->setObjectName(QStringLiteral("paletteText"));
    m_typed->setPlaceholderText(tr("Type a command, a metric, a run or the number of a step"));
    m_typed->setAccessibleName(tr("Command"));
    m_typed->setClearButtonEnabled(true);
    m_typed->installEventFilter(this);
    m_list->setObjectName(QStringLiteral("paletteList"));
    m_list->setAccessibleName(tr("Commands that match"));
    m_list->setModel(m_model);
    m_list->setItemDelegate(new CommandDelegate(m_list));
    m_list->setUniformItemSizes(true);
    m_list->setFocusPolicy(Qt::NoFocus);
    m_tip->setObjectName(QStringLiteral("paletteTip"));
    m_tip->setWordWrap(true);
    m_tip->setForegroundRole(QPalette::PlaceholderText);

    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->setSpacing(8);
    layout->addWidget(m_typed);
    layout->addWidget(m_list, 1);
    layout->addWidget(m_tip);

    connect(m_typed, &QLineEdit::textChanged, m_model, &CommandModel::setTyped);
    connect(m_typed, &QLineEdit::returnPressed, this, &CommandPalette::runCurrent);
    connect(m_list, &QListView::clicked, this, &CommandPalette::runCurrent);
    connect(m_model, &QAbstractItemModel::modelReset, this,
            [this] { m_list->setCurrentIndex(m_model->index(0)); });
    connect(m_list->selectionModel(), &QItemSelectionModel::currentChanged, this,
            &CommandPalette::showTip);
}

void CommandPalette::popUp() {
    m_typed->clear();
    m_list->setCurrentIndex(m_model->index(0));
    showTip();
    if (const QWidget* window = parentWidget()) {
        resize(std::min(paletteWidth, window->width() - 32),
               std::min(paletteHeight, window->height() - 80));
        move(window->mapToGlobal(QPoint((window->width() - width()) / 2, 48)));
    }
    m_typed->setFocus();
    open();
}

void CommandPalette::runCurrent() {
    const int row = m_list->currentIndex().row();
    accept(); // first: a command may open a dialog of its own
    m_model->run(row);
}

void CommandPalette::showTip() {
    const QString tip = m_list->currentIndex().data(Qt::ToolTipRole).toString();
    m_tip->setText(m_model->rowCount() == 0 ? tr("No command matches.") : tip);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_typed && event->type() == QEvent::KeyPress) {
        switch (static_cast<QKeyEvent*>(event)->key()) {
        case Qt::Key_Up:
        case Qt::Key_Down:
        case Qt::Key_PageUp:
        case Qt::Key_PageDown:
            QApplication::sendEvent(m_list, event);
            return true;
        default:
            break;
        }
    }
    return QDialog::eventFilter(watched, event);
}

} // namespace driftscope
