// SPDX-License-Identifier: GPL-3.0-or-later
// Every command with its shortcut, grouped by menu: to read, to copy and to save as text.
#pragma once

#include "CommandModel.h"

#include <QDialog>

class QTextBrowser;

namespace driftscope {

class ShortcutSheet : public QDialog {
    Q_OBJECT

public:
    explicit ShortcutSheet(const std::vector<Command>& commands, QWidget* parent = nullptr);

    /// In columns, a heading for each menu.
    [[nodiscard]] static QString asText(const std::vector<Command>& commands);

signals:
    /// To be written to a file that the user chooses.
    void saveRequested(const QString& text);

private:
    [[nodiscard]] static QString asHtml(const std::vector<Command>& commands);

    QTextBrowser* m_sheet;
};

} // namespace driftscope
