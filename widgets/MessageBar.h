// SPDX-License-Identifier: GPL-3.0-or-later
// One message across the window, with the action that helps. Hidden when there is nothing to say.
#pragma once

#include "Theme.h"

#include <QFrame>

class QAction;
class QLabel;
class QToolButton;

namespace driftscope {

class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { Info, Warning, Error };

    explicit MessageBar(QWidget* parent = nullptr);

    /// `action`, if any, becomes a button; it is not owned.
    void showMessage(Kind kind, const QString& text, QAction* action = nullptr);
    [[nodiscard]] QString text() const;
    void setTheme(const Theme& theme);

private:
    void applyTheme();

    Theme m_theme = Theme::light();
    Kind m_kind = Kind::Info;
    QLabel* m_icon;
    QLabel* m_text;
    QToolButton* m_action;
    QToolButton* m_close;
};

} // namespace driftscope
