// SPDX-License-Identifier: GPL-3.0-or-later
// How cells of a heatmap are painted, in panels and in the legend. Include in .cpp files only.
#pragma once

#include "Theme.h"

#include "analysis/ViewData.h"

#include <qcustomplot.h>

#include <set>

namespace driftscope {

/// From dark blue to yellow, perceptually even and safe for the colour-blind.
QCPColorGradient viridis();

/// Colour of values between two positive ends, on a logarithmic scale.
struct ColorRange {
    double smallest = 0;
    double largest = 0;
};

/// Cells of one panel: column c spans c … c + 1 on the key axis, row r spans r … r + 1 on the value
/// axis.
class HeatmapCells : public QCPAbstractPlottable {
    Q_OBJECT

public:
    using QCPAbstractPlottable::QCPAbstractPlottable;

    void setPanel(HeatmapPanel panel, ColorRange range);
    void setTheme(const Theme& theme) { m_theme = theme; }
    [[nodiscard]] const HeatmapPanel& panel() const { return m_panel; }

    double selectTest(const QPointF& pos, bool onlySelectable, QVariant* details) const override;
    QCPRange getKeyRange(bool& foundRange, QCP::SignDomain inSignDomain) const override;
    QCPRange getValueRange(bool& foundRange, QCP::SignDomain inSignDomain,
                           const QCPRange& inKeyRange) const override;

protected:
    void draw(QCPPainter* painter) override;
    void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override;

private:
    void drawRow(QCPPainter& painter, std::size_t row);
    void drawTexts(QCPPainter& painter) const;
    [[nodiscard]] QColor colorOf(const HeatmapCell& cell) const;
    [[nodiscard]] QRect rectOf(std::size_t row, std::size_t firstColumn,
                               std::size_t endColumn) const;

    HeatmapPanel m_panel;
    ColorRange m_range;
    Theme m_theme = Theme::light();
    mutable QCPColorGradient m_gradient = viridis();
};

/// Explains the cells that are no values: identical, reference, unavailable, not finite.
class CellLegend : public QCPLayoutElement {
    Q_OBJECT

public:
    explicit CellLegend(QCustomPlot* plot);

    void setKinds(std::set<CellKind> kinds) { m_kinds = std::move(kinds); }
    void setStyle(const Theme& theme, const QFont& font);

    QSize minimumOuterSizeHint() const override;

protected:
    void draw(QCPPainter* painter) override;

private:
    std::set<CellKind> m_kinds;
    Theme m_theme = Theme::light();
    QFont m_font;
};

} // namespace driftscope
