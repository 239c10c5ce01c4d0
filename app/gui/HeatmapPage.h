// SPDX-License-Identifier: GPL-3.0-or-later
// The Heatmap view: which two of layers, steps, runs and settings it spans, and the plot.
#pragma once

#include "HeatmapPlot.h"
#include "LatestTask.h"
#include "ViewPage.h"

#include "analysis/ViewData.h"

#include <vector>

class QComboBox;
class QHBoxLayout;
class QToolButton;

namespace driftscope {

struct Actions;

class HeatmapPage : public ViewPage {
    Q_OBJECT

public:
    HeatmapPage(Selection& selection, Actions& actions, QWidget* parent = nullptr);

    void setTheme(const Theme& theme) override;
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

    [[nodiscard]] HeatmapPlot& plot() const { return *m_plot; }

protected:
    void refresh() override;
    void resultsChanged(bool isOther) override;

private:
    void setKind(HeatmapKind kind);
    QComboBox* addCombo(QHBoxLayout& layout, const QString& name, const QString& label,
                        const QString& tip);
    void colorKinds();
    void fillAxes();
    void fillScopes();
    void showControls();
    void selectRow(int row);
    void show(HeatmapView view);
    [[nodiscard]] QString hint() const;

    HeatmapPlot* m_plot;
    std::vector<QToolButton*> m_kinds;
    QComboBox* m_rows;  ///< layers or tensors
    QComboBox* m_scope; ///< what a cell is about
    QComboBox* m_rowAxis;
    QComboBox* m_columnAxis;
    QComboBox* m_panelAxis;
    std::vector<Scope> m_scopes;
    HeatmapChoice m_choice;
    LatestTask<HeatmapView> m_task;
};

} // namespace driftscope
