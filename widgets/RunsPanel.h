// SPDX-License-Identifier: GPL-3.0-or-later
// The runs tree with its filter. The current row is the selected run.
#pragma once

#include "RunTreeModel.h"

#include <QWidget>

class QLineEdit;
class QSortFilterProxyModel;
class QTreeView;

namespace driftscope {

class RunsPanel : public QWidget {
    Q_OBJECT

public:
    explicit RunsPanel(QWidget* parent = nullptr);

    [[nodiscard]] RunTreeModel& model() const { return *m_model; }
    void setSelectedRun(std::optional<std::size_t> run);
    [[nodiscard]] std::optional<std::size_t> selectedRun() const;
    void setTheme(const Theme& theme);
    void focusFilter();
    /// Shown as the tree's context menu.
    void addMenuAction(QAction* action);

signals:
    void runSelected(int run);

private:
    RunTreeModel* m_model;
    QSortFilterProxyModel* m_filter;
    QLineEdit* m_filterEdit;
    QTreeView* m_view;
};

} // namespace driftscope
