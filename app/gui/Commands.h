// SPDX-License-Identifier: GPL-3.0-or-later
// What the window can do, gathered from its menus: for the command palette and the shortcut sheet.
#pragma once

#include "CommandModel.h"

#include <vector>

class QMenuBar;

namespace driftscope {

enum class CommandKind { Enabled, All };

/// The actions of the menus, in their order; running one triggers it, unless it has been deleted.
std::vector<Command> commandsOf(const QMenuBar& menus, CommandKind kind);

} // namespace driftscope
