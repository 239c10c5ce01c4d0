// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunsPanel.h"

#include "Icons.h"
#include "ProgressDelegate.h"
#include "RunFilterModel.h"

#include <QAction>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

namespace driftscope {

RunsPanel::RunsPanel(QWidget* parent)
    : QWidget(parent), m_model(new RunTreeModel(this)), m_filter(new RunFilterModel(this)),
      m_filterEdit(new QLineEdit(this)), m_groupings(new QComboBox(this)),
      m_view(new QTreeView(this)) {
    m_filter->setSourceModel(m_model);

    m_filterEdit->setObjectName(QStringLiteral("runFilter"));
    m_filterEdit->setPlaceholderText(tr("Filter runs"));
    m_filterEdit->setAccessibleName(tr("Filter runs"));
    m_filterEdit->setToolTip(tr("Words that a run's settings, verdict or state contain: "
                                "“threads=2 rounding”"));
    m_filterEdit->setClearButtonEnabled(true);
    connect(m_filterEdit, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter->setFilterText(text);
        m_view->expandAll();
    });
    m_groupings->setObjectName(QStringLiteral("runGrouping"));
    m_groupings->setAccessibleName(tr("Group runs"));
    m_groupings->setToolTip(tr("The setting that groups the runs"));
    m_groupings->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_groupings->setMinimumContentsLength(12);
    connect(m_groupings, &QComboBox::activated, this, [this](int index) {
        setGrouping(m_groupings->itemData(index).toString().toStdString());
    });

    m_view->setObjectName(QStringLiteral("runTree"));
    m_view->setAccessibleName(tr("Runs of the study"));
    m_view->setModel(m_filter);
    m_view->setUniformRowHeights(true);
    m_view->setAllColumnsShowFocus(true);
    m_view->setIndentation(14);
    m_view->setIconSize(QSize(swatchPixels, swatchPixels));
    m_view->setItemDelegateForColumn(RunTreeModel::Progress, new ProgressDelegate(m_view));
    // The last column takes what is left; where nothing is, the tree scrolls and cuts no text.
    m_view->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
    // A third click gives the study's own order back.
    m_view->header()->setSortIndicatorClearable(true);
    m_view->header()->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->setSortingEnabled(true);
    m_view->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(m_filter, &QAbstractItemModel::modelReset, this, [this] {
        fillGroupings();
        m_view->expandAll();
    });
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this](const QModelIndex& current) {
                const QVariant run = current.data(RunTreeModel::RunRole);
                if (run.isValid())
                    emit runSelected(run.toInt());
            });

    auto* row = new QHBoxLayout;
    row->addWidget(m_filterEdit, 1);
    row->addWidget(m_groupings);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 8, 8, 8);
    layout->addLayout(row);
    layout->addWidget(m_view);
    setTabOrder(m_filterEdit, m_view); // from what was typed to what it found
    setTabOrder(m_view, m_groupings);
    fillGroupings();
}

void RunsPanel::fillGroupings() {
    m_groupings->clear();
    m_groupings->addItem(tr("No groups"), QString());
    const std::vector<std::string> axes = m_model->axes();
    for (const std::string& axis : axes) {
        const QString key = QString::fromStdString(axis);
        m_groupings->addItem(tr("By %1").arg(key), key);
    }
    const auto& chosen = m_model->grouping();
    const QString shown = chosen             ? QString::fromStdString(*chosen)
                          : axes.size() >= 2 ? QString::fromStdString(axes.front())
                                             : QString();
    m_groupings->setCurrentIndex(std::max(0, m_groupings->findData(shown)));
    m_groupings->setEnabled(!axes.empty());
}

void RunsPanel::setGrouping(const std::optional<std::string>& axis) {
    const std::optional<std::size_t> run = selectedRun();
    m_model->setGrouping(axis);
    fillGroupings();
    setSelectedRun(run); // the tree has been filled anew
}

void RunsPanel::setSelectedRun(std::optional<std::size_t> run) {
    if (run == selectedRun())
        return;
    const QModelIndex index =
        run ? m_filter->mapFromSource(m_model->indexOfRun(*run)) : QModelIndex();
    m_view->setCurrentIndex(index);
}

std::optional<std::size_t> RunsPanel::selectedRun() const {
    const QVariant run = m_view->currentIndex().data(RunTreeModel::RunRole);
    return run.isValid() ? std::optional(static_cast<std::size_t>(run.toInt())) : std::nullopt;
}

void RunsPanel::setTheme(const Theme& theme) {
    m_model->setTheme(theme);
    m_view->setPalette(checkMarkPalette(theme));
}

void RunsPanel::focusFilter() {
    m_filterEdit->setFocus(Qt::ShortcutFocusReason);
}

void RunsPanel::addMenuAction(QAction* action) {
    m_view->addAction(action);
}

} // namespace driftscope
