// SPDX-License-Identifier: GPL-3.0-or-later
// The Heatmap view: which two of layers, steps, runs and settings it spans, and the plot.
#pragma once

#include "HeatmapPlot.h"
#include "LatestTask.h"

#include "analysis/ViewData.h"

#include <QWidget>

#include <memory>
#include <vector>

class QAction;
class QComboBox;
class QHBoxLayout;
class QToolButton;

namespace driftscope {

class Selection;

class HeatmapPage : public QWidget {
    Q_OBJECT

public:
    /// Both outlive the page. The actions choose the kind, in the order of HeatmapKind, and are
    /// checkable.
    HeatmapPage(Selection& selection, const std::vector<QAction*>& kindActions,
                QWidget* parent = nullptr);

    void setResults(std::shared_ptr<const StudyResults> results);
    void setMetric(Metric metric);
    void setKind(HeatmapKind kind);
    void setTheme(const Theme& theme);

    [[nodiscard]] HeatmapPlot& plot() const { return *m_plot; }

private:
    QComboBox* addCombo(QHBoxLayout& layout, const QString& name, const QString& label,
                        const QString& tip);
    void colorKinds();
    void fillAxes();
    void fillScopes();
    void showControls();
    void refresh();
    void selectRow(int row);
    void show(HeatmapView view);
    [[nodiscard]] QString hint() const;

    Selection& m_selection;
    HeatmapPlot* m_plot;
    std::vector<QToolButton*> m_kinds;
    QComboBox* m_rows;  ///< layers or tensors
    QComboBox* m_scope; ///< what a cell is about
    QComboBox* m_rowAxis;
    QComboBox* m_columnAxis;
    QComboBox* m_panelAxis;
    std::shared_ptr<const StudyResults> m_results;
    std::vector<Scope> m_scopes;
    HeatmapChoice m_choice;
    LatestTask<HeatmapView> m_task;
};

} // namespace driftscope
