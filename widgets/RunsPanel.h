// SPDX-License-Identifier: GPL-3.0-or-later
// The runs tree with its filter, sorted by a click on a column, grouped by an axis. The current row
// is the selected run.
#pragma once

#include "RunTreeModel.h"

#include <QWidget>

class QComboBox;
class QLineEdit;
class QTreeView;

namespace driftscope {

class RunFilterModel;

class RunsPanel : public QWidget {
    Q_OBJECT

public:
    explicit RunsPanel(QWidget* parent = nullptr);

    [[nodiscard]] RunTreeModel& model() const { return *m_model; }
    void setSelectedRun(std::optional<std::size_t> run);
    [[nodiscard]] std::optional<std::size_t> selectedRun() const;
    /// As RunTreeModel::setGrouping, shown in the choice beside the filter.
    void setGrouping(const std::optional<std::string>& axis);
    void setTheme(const Theme& theme);
    void focusFilter();
    /// Shown as the tree's context menu.
    void addMenuAction(QAction* action);

signals:
    void runSelected(int run);

private:
    void fillGroupings();

    RunTreeModel* m_model;
    RunFilterModel* m_filter;
    QLineEdit* m_filterEdit;
    QComboBox* m_groupings;
    QTreeView* m_view;
};

} // namespace driftscope
