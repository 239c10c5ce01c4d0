// SPDX-License-Identifier: GPL-3.0-or-later
// Divergence curves. Bit-identical points lie on a labelled floor line, non-finite ones on a
// labelled line at the top, zeros whose bits differ on one of their own: QCustomPlot never sees a
// NaN, an infinity, or a value ≤ 0 on a log axis.
#pragma once

#include "PlotWidget.h"

#include "analysis/ViewData.h"

#include <QSharedPointer>

#include <cstdint>
#include <vector>

class QCPGraph;
class QCPItemStraightLine;
class QCPItemText;
class QCPLayoutGrid;

namespace driftscope {

class DenseCurves;
class FloorTicker;

class CurvePlot : public PlotWidget {
    Q_OBJECT

public:
    explicit CurvePlot(QWidget* parent = nullptr);
    ~CurvePlot() override;

    /// Keeps the user's zoom unless the quantity changed.
    void setView(CurveView view);
    [[nodiscard]] const CurveView& view() const { return m_view; }

    /// Its curves are drawn stronger than the others.
    void setSelectedRun(std::optional<std::size_t> run);
    /// Beyond so many curves, twins apart, there is no legend: the trees beside the plot serve as one.
    void setLegendLimit(std::size_t curves);

    void resetZoom() override;
    [[nodiscard]] QString readoutAt(QPoint point) override;

    /// What is visible, to draw another plot alike.
    struct Ranges {
        double left, right, bottom, top;
    };
    [[nodiscard]] std::optional<Ranges> zoom() const; ///< none: everything is visible
    void setZoom(const Ranges& ranges);

signals:
    void scopePicked(const Scope& scope);

protected:
    void applyTheme() override;
    void fitTo(QSize size) override;
    void pick(QPoint point) override;
    void hideCrossHair() override;
    void placeStepMark() override;

private:
    struct Hit {
        std::size_t curve;
        std::size_t point;
    };
    void addFixedLines();
    void placeFixedLines();
    void fillGraphs();
    void setTwinKey(bool isShown);
    void fillLegend();
    void styleGraphs();
    void fitRanges();
    void setHovered(std::optional<std::size_t> curve);
    [[nodiscard]] bool isDense() const;
    [[nodiscard]] double plotted(const Curve& curve, std::size_t point) const;
    [[nodiscard]] std::optional<Hit> nearest(QPoint point) const;

    CurveView m_view;
    QCPLayoutGrid* m_legendRow;
    QSharedPointer<FloorTicker> m_logTicker;
    DenseCurves* m_dense;             ///< draws the curves where they have many points
    std::vector<QCPGraph*> m_graphs;  ///< one per curve, without points where m_dense draws it
    std::vector<QCPGraph*> m_markers; ///< first divergence of each curve, but for twins
    QCPGraph* m_twinKey = nullptr;    ///< stands for all twins in the legend; there while they are
    QCPItemStraightLine* m_floorLine;
    QCPItemText* m_floorLabel;
    QCPItemStraightLine* m_zeroLine;
    QCPItemText* m_zeroLabel;
    QCPItemStraightLine* m_topLine;
    QCPItemText* m_topLabel;
    QCPItemStraightLine* m_stepLine;
    QCPItemStraightLine* m_crossVertical;
    QCPItemStraightLine* m_crossHorizontal;

    double m_zero = 0; ///< where points are drawn whose bits differ although the metric is 0
    double m_top = 0;  ///< where non-finite points are drawn
    bool m_isZoomed = false;
    std::size_t m_legendLimit = 8;
    std::optional<std::size_t> m_selectedRun;
    std::optional<std::size_t> m_hovered;
};

} // namespace driftscope
