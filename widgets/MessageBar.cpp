// SPDX-License-Identifier: GPL-3.0-or-later
#include "MessageBar.h"

#include "Icons.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace driftscope {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), m_icon(new QLabel(this)), m_text(new QLabel(this)),
      m_action(new QToolButton(this)), m_close(new QToolButton(this)) {
    setObjectName(QStringLiteral("messageBar"));
    setAutoFillBackground(true);
    m_text->setObjectName(QStringLiteral("messageText"));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_action->setObjectName(QStringLiteral("messageAction"));
    m_action->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_close->setObjectName(QStringLiteral("messageClose"));
    m_close->setAutoRaise(true);
    m_close->setToolTip(tr("Close this message"));
    m_close->setAccessibleName(tr("Close this message"));
    connect(m_close, &QToolButton::clicked, this, &QWidget::hide);

    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(16, 8, 8, 8);
    layout->setSpacing(12);
    layout->addWidget(m_icon, 0, Qt::AlignTop);
    layout->addWidget(m_text, 1);
    layout->addWidget(m_action);
    layout->addWidget(m_close, 0, Qt::AlignTop);
    applyTheme();
    hide();
}

void MessageBar::showMessage(Kind kind, const QString& text, QAction* action) {
    m_kind = kind;
    m_text->setText(text);
    m_text->setAccessibleName(text);
    m_action->setVisible(action != nullptr);
    if (action)
        m_action->setDefaultAction(action);
    applyTheme();
    show();
}

QString MessageBar::text() const {
    return m_text->text();
}

void MessageBar::setTheme(const Theme& theme) {
    m_theme = theme;
    applyTheme();
}

void MessageBar::applyTheme() {
    const QColor color = m_kind == Kind::Error ? m_theme.error
                         : m_kind == Kind::Warning
                             ? m_theme.warning
                             : m_theme.reference.lighter(m_theme.isDark ? 90 : 110);
    QPalette palette = paletteOf(m_theme);
    palette.setColor(QPalette::Window, color);
    setPalette(palette);
    const QString name = m_kind == Kind::Error     ? QStringLiteral("error")
                         : m_kind == Kind::Warning ? QStringLiteral("warning")
                                                   : QStringLiteral("info");
    m_icon->setPixmap(themedIcon(name, m_theme.text, m_theme.axis).pixmap(20, 20));
    m_close->setIcon(themedIcon(QStringLiteral("close"), m_theme.text, m_theme.axis));
}

} // namespace driftscope
