// SPDX-License-Identifier: GPL-3.0-or-later
#include "ShortcutSheet.h"

#include <QClipboard>
#include <QDialogButtonBox>
#include <QGuiApplication>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace driftscope {
namespace {

using Groups = std::vector<std::pair<QString, std::vector<const Command*>>>;

/// By menu, in the menus' order; only what has a shortcut.
Groups groupsOf(const std::vector<Command>& commands) {
    Groups groups;
    for (const Command& command : commands) {
        if (command.shortcut.isEmpty())
            continue;
        auto group = std::ranges::find(groups, command.place, &Groups::value_type::first);
        if (group == groups.end())
            group = groups.insert(groups.end(), {command.place, {}});
        group->second.push_back(&command);
    }
    return groups;
}

} // namespace

ShortcutSheet::ShortcutSheet(const std::vector<Command>& commands, QWidget* parent)
    : QDialog(parent), m_sheet(new QTextBrowser(this)) {
    setObjectName(QStringLiteral("shortcutSheet"));
    setWindowTitle(tr("Keyboard shortcuts"));
    resize(560, 600);
    m_sheet->setObjectName(QStringLiteral("shortcutText"));
    m_sheet->setAccessibleName(windowTitle());
    m_sheet->setHtml(asHtml(commands));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    QPushButton* copy = buttons->addButton(tr("&Copy as text"), QDialogButtonBox::ActionRole);
    copy->setObjectName(QStringLiteral("copyShortcuts"));
    QPushButton* save = buttons->addButton(tr("&Save as text…"), QDialogButtonBox::ActionRole);
    save->setObjectName(QStringLiteral("saveShortcuts"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 16, 16, 16);
    layout->addWidget(m_sheet);
    layout->addWidget(buttons);
    const QString text = asText(commands);
    connect(copy, &QPushButton::clicked, this,
            [text] { QGuiApplication::clipboard()->setText(text); });
    connect(save, &QPushButton::clicked, this, [this, text] { emit saveRequested(text); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

QString ShortcutSheet::asHtml(const std::vector<Command>& commands) {
    QString html;
    for (const auto& [place, group] : groupsOf(commands)) {
        html += QStringLiteral("<h3>%1</h3><table cellpadding=\"3\">").arg(place.toHtmlEscaped());
        for (const Command* command : group)
            html += QStringLiteral("<tr><td width=\"160\"><b>%1</b></td><td>%2</td></tr>")
                        .arg(command->shortcut.toHtmlEscaped(), command->title.toHtmlEscaped());
        html += QStringLiteral("</table>");
    }
    return html;
}

QString ShortcutSheet::asText(const std::vector<Command>& commands) {
    const Groups groups = groupsOf(commands);
    qsizetype widest = 0;
    for (const auto& [place, group] : groups)
        for (const Command* command : group)
            widest = std::max(widest, command->shortcut.size());
    QString text = tr("Driftscope: keyboard shortcuts") + QLatin1Char('\n');
    for (const auto& [place, group] : groups) {
        text += QLatin1Char('\n') + place + QLatin1Char('\n');
        for (const Command* command : group)
            text += QStringLiteral("  %1  %2\n").arg(command->shortcut, -widest).arg(command->title);
    }
    return text;
}

} // namespace driftscope
