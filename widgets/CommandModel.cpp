// SPDX-License-Identifier: GPL-3.0-or-later
#include "CommandModel.h"

#include "FuzzyMatch.h"

#include <algorithm>
#include <utility>

namespace driftscope {

void CommandModel::setCommands(std::vector<Command> commands,
                               std::function<void(std::int64_t)> goToStep) {
    m_commands = std::move(commands);
    m_goToStep = std::move(goToStep);
    match();
}

void CommandModel::setTyped(const QString& text) {
    m_typed = text;
    match();
}

void CommandModel::match() {
    std::vector<std::pair<int, const Command*>> found;
    for (const Command& command : m_commands) {
        auto score = fuzzyScore(m_typed, command.title);
        // Its menu is a help to remember it by, and says less than its name.
        const auto whole =
            fuzzyScore(m_typed, command.place + QLatin1Char(' ') + command.title);
        if (whole && *whole / 2 > score.value_or(-1000))
            score = *whole / 2;
        if (score)
            found.emplace_back(*score, &command);
    }
    std::ranges::stable_sort(found, std::greater(), &std::pair<int, const Command*>::first);

    beginResetModel();
    m_shown.clear();
    bool isNumber = false;
    const std::int64_t step = m_typed.trimmed().toLongLong(&isNumber);
    if (isNumber && step >= 0 && m_goToStep)
        m_shown.push_back({tr("Go to step %1").arg(step), tr("Step"), {},
                           tr("The last recorded step up to it"),
                           [go = m_goToStep, step] { go(step); }});
    for (const auto& [score, command] : found)
        m_shown.push_back(*command);
    endResetModel();
}

void CommandModel::run(int row) const {
    if (row < 0 || row >= rowCount())
        return;
    const auto call = m_shown[static_cast<std::size_t>(row)].run; // may change the commands
    if (call)
        call();
}

int CommandModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_shown.size());
}

QVariant CommandModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const Command& command = m_shown[static_cast<std::size_t>(index.row())];
    switch (role) {
    case Qt::DisplayRole:
        return command.title;
    case Qt::ToolTipRole:
        return command.tip;
    case Qt::AccessibleTextRole:
        return tr("%1, %2 %3").arg(command.title, command.place, command.shortcut);
    case PlaceRole:
        return command.place;
    case ShortcutRole:
        return command.shortcut;
    default:
        return {};
    }
}

} // namespace driftscope
