// SPDX-License-Identifier: GPL-3.0-or-later
#include "Commands.h"

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QPointer>

namespace driftscope {
namespace {

/// "&Open…" without its mnemonic.
QString plain(QString text) {
    return text.remove(QLatin1Char('&'));
}

void gather(const QList<QAction*>& actions, const QString& place, CommandKind kind,
            std::vector<Command>& commands) {
    for (QAction* action : actions) {
        if (action->isSeparator() || (kind == CommandKind::Enabled && !action->isEnabled()))
            continue;
        if (const QMenu* menu = action->menu()) {
            const QString name = plain(menu->title());
            gather(menu->actions(), place.isEmpty() ? name : place + QStringLiteral(" ▸ ") + name, kind,
                   commands);
            continue;
        }
        if (action->isVisible())
            commands.push_back({plain(action->text()), place,
                                action->shortcut().toString(QKeySequence::NativeText),
                                action->statusTip().isEmpty() ? action->toolTip() : action->statusTip(),
                                [action = QPointer(action)] {
                                    if (action)
                                        action->trigger();
                                }});
    }
}

} // namespace

std::vector<Command> commandsOf(const QMenuBar& menus, CommandKind kind) {
    std::vector<Command> commands;
    gather(menus.actions(), QString(), kind, commands);
    return commands;
}

} // namespace driftscope
