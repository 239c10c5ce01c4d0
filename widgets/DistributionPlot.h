// SPDX-License-Identifier: GPL-3.0-or-later
// Two histograms above one another: values of the run and of its reference, and what parts them.
#pragma once

#include "PlotWidget.h"

#include "analysis/Distribution.h"

class QCPAxisRect;
class QCPGraph;

namespace driftscope {

class DistributionPlot : public PlotWidget {
    Q_OBJECT

public:
    explicit DistributionPlot(QWidget* parent = nullptr);

    /// `run` decides the colour.
    void setDistribution(Distribution distribution, std::size_t run);
    [[nodiscard]] const Distribution& distribution() const { return m_distribution; }
    [[nodiscard]] std::size_t run() const { return m_run; }

    void resetZoom() override;
    [[nodiscard]] QString readoutAt(QPoint point) override;

protected:
    void applyTheme() override;
    void fitTo(QSize size) override { Q_UNUSED(size) }
    void pick(QPoint point) override { Q_UNUSED(point) }
    void hideCrossHair() override {}
    void placeStepMark() override {} ///< no axis has steps

private:
    QCPGraph* addSteps(QCPAxisRect& rect);
    void fill(QCPGraph& graph, const Histogram& histogram) const;

    Distribution m_distribution;
    std::size_t m_run = 0;
    QCPAxisRect* m_upper;
    QCPAxisRect* m_lower;
    QCPGraph* m_ofRun;
    QCPGraph* m_ofReference;
    QCPGraph* m_ofDifference;
};

} // namespace driftscope
