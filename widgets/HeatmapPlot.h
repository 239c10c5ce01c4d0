// SPDX-License-Identifier: GPL-3.0-or-later
// A heatmap: one matrix, or several panels that share rows, columns and colour scale. Cells that
// are no values (identical, reference, unavailable, …) have looks of their own, explained below the
// plot.
#pragma once

#include "PlotWidget.h"

#include "analysis/ViewData.h"

#include <memory>
#include <vector>

class QCPColorScale;
class QCPLayoutGrid;
class QCPMarginGroup;

namespace driftscope {

class CellLegend;

class HeatmapPlot : public PlotWidget {
    Q_OBJECT

public:
    explicit HeatmapPlot(QWidget* parent = nullptr);
    ~HeatmapPlot() override;

    void setView(HeatmapView view);
    [[nodiscard]] const HeatmapView& view() const { return m_view; }

    void resetZoom() override;
    [[nodiscard]] QString readoutAt(QPoint point) override;

    /// Centre of a cell in pixels of the plot, for tests.
    [[nodiscard]] QPoint centerOf(std::size_t panel, std::size_t row, std::size_t column) const;

signals:
    void rowPicked(int row);

protected:
    void applyTheme() override;
    void fitTo(QSize size) override;
    void pick(QPoint point) override;
    void hideCrossHair() override;
    void placeStepMark() override;

private:
    struct Panel;
    struct Hit {
        std::size_t panel, row, column;
    };
    void buildPanels();
    void addPanel(std::size_t index, std::size_t gridColumns);
    void fillPanels();
    void fillScale();
    void fitColumns(Panel& panel, int pixels);
    void fitRows(Panel& panel, int pixels, bool hasLabels);
    [[nodiscard]] std::optional<Hit> hitAt(QPoint point) const;

    HeatmapView m_view;
    std::vector<std::int64_t> m_columnSteps; ///< of the columns, where these are steps

    QCPLayoutGrid* m_content; ///< panels on the left, colour scale on the right
    QCPLayoutGrid* m_panelGrid;
    QCPColorScale* m_scale;
    QCPMarginGroup* m_margins;
    CellLegend* m_legend;
    std::vector<std::unique_ptr<Panel>> m_panels;
};

} // namespace driftscope
