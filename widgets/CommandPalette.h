// SPDX-License-Identifier: GPL-3.0-or-later
// All commands of the window in one list: type a part of a name, Enter runs it, Escape closes.
#pragma once

#include "CommandModel.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QListView;

namespace driftscope {

class CommandPalette : public QDialog {
    Q_OBJECT

public:
    explicit CommandPalette(QWidget* parent = nullptr);

    [[nodiscard]] CommandModel& model() const { return *m_model; }
    /// Centred at the top of its parent, with nothing typed.
    void popUp();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void runCurrent();
    void showTip();

    CommandModel* m_model;
    QLineEdit* m_typed;
    QListView* m_list;
    QLabel* m_tip;
};

} // namespace driftscope
