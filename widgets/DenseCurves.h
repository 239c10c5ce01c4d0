// SPDX-License-Identifier: GPL-3.0-or-later
// Draws many long curves at once, at a cost that depends on the pixels more than on the points: Qt
// takes 50 ns and more for each of the segments of a polyline. Include in .cpp files only.
#pragma once

#include "analysis/CurveColumns.h"

#include <qcustomplot.h>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace driftscope {

/// A curve as it is to be drawn: finite values that suit the axes.
struct DenseCurve {
    std::span<const double> steps; ///< borrowed
    std::vector<double> values;
    QPen pen{};
};

/// An item of its plot, on the plot's xAxis and yAxis.
class DenseCurves : public QCPAbstractItem {
public:
    explicit DenseCurves(QCustomPlot& plot);

    void setCurves(std::vector<DenseCurve> curves) {
        m_curves = std::move(curves);
        m_grid.reset();
    }
    /// Those there are, so that their memory can be used again; setCurves follows.
    [[nodiscard]] std::vector<DenseCurve> takeCurves() { return std::exchange(m_curves, {}); }
    void setPen(std::size_t curve, const QPen& pen) { m_curves.at(curve).pen = pen; }

    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override;

private:
    class Canvas;

    [[nodiscard]] PixelGrid gridOf(double pixelRatio) const;
    void drawLines(QCPPainter* painter) const;
    void drawPixels(QCPPainter* painter);
    void decimateAll(const PixelGrid& grid);
    void paintColumns(Canvas& canvas, std::size_t from, std::size_t to, double pixelRatio) const;

    std::vector<DenseCurve> m_curves;
    std::optional<PixelGrid> m_grid;            ///< that m_runs is for
    std::vector<std::vector<ColumnRun>> m_runs; ///< per curve
};

} // namespace driftscope
