// SPDX-License-Identifier: GPL-3.0-or-later
// The commands of the window that match what is typed, the best first.
#pragma once

#include <QAbstractListModel>
#include <QString>

#include <cstdint>
#include <functional>
#include <vector>

namespace driftscope {

struct Command {
    QString title;    ///< "Open study…"
    QString place;    ///< where it is otherwise: "File", "View ▸ Theme"
    QString shortcut; ///< as the system writes it, or ""
    QString tip;
    std::function<void()> run;
};

class CommandModel : public QAbstractListModel {
    Q_OBJECT

public:
    enum Role { PlaceRole = Qt::UserRole, ShortcutRole };

    using QAbstractListModel::QAbstractListModel;

    /// `goToStep`, if any, is offered for a whole number that is typed.
    void setCommands(std::vector<Command> commands,
                     std::function<void(std::int64_t)> goToStep = nullptr);
    void setTyped(const QString& text);
    void run(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    void match();

    std::vector<Command> m_commands;
    std::function<void(std::int64_t)> m_goToStep;
    QString m_typed;
    std::vector<Command> m_shown;
};

} // namespace driftscope
