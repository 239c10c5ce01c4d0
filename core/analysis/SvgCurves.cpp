// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/CurveColumns.h"
#include "analysis/Markup.h"
#include "analysis/SvgPlots.h"
#include "analysis/SvgText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

namespace driftscope {
namespace {

constexpr double left = 112, right = 24, top = 28, plotWidth = 744, plotHeight = 360;
constexpr double edge = 14; ///< from the axes' ends to what has no place on them
/// M4 keeps four points of a column.
constexpr std::size_t mostPoints = 600, columns = mostPoints / 4;
constexpr std::size_t longestName = 60, longestTitle = 52;
constexpr int mostSteps = 8; ///< labels on the axis of steps

/// A twin's value may be too large once it is scaled.
PointKind kindOf(const Curve& curve, std::size_t i) {
    const bool isTooLarge = curve.kinds[i] == PointKind::Value && !std::isfinite(curve.values[i]);
    return isTooLarge ? PointKind::Nonfinite : curve.kinds[i];
}

/// Where steps and values lie. In logarithms: they fit where the values' own powers of ten do not.
struct Frame {
    double firstStep = 0, lastStep = 1;
    double low = -8, high = -6; ///< decimal logarithms of the floor and of the upper end
    bool hasZeros = false, hasNonfinite = false;

    [[nodiscard]] double x(double step) const {
        return left + (step - firstStep) / (lastStep - firstStep) * plotWidth;
    }
    [[nodiscard]] double bottom() const { return top + plotHeight; }
    [[nodiscard]] double y(double logarithm) const {
        return bottom() - (logarithm - low) / (high - low) * plotHeight;
    }
    [[nodiscard]] double y(const Curve& curve, std::size_t i) const {
        switch (kindOf(curve, i)) {
        case PointKind::Value: return y(std::log10(curve.values[i]));
        case PointKind::Zero: return bottom() + edge;
        case PointKind::Nonfinite: return top - edge;
        case PointKind::Identical: break;
        }
        return bottom();
    }
};

Frame frameOf(const CurveView& view) {
    Frame frame;
    bool hasSteps = false, hasValues = false;
    double smallest = 0, largest = 0;
    for (const Curve& curve : view.curves)
        for (std::size_t i = 0; i < curve.steps.size(); ++i) {
            const double step = curve.steps[i];
            frame.firstStep = hasSteps ? std::min(frame.firstStep, step) : step;
            frame.lastStep = hasSteps ? std::max(frame.lastStep, step) : step;
            hasSteps = true;
            const PointKind kind = kindOf(curve, i);
            frame.hasZeros |= kind == PointKind::Zero;
            frame.hasNonfinite |= kind == PointKind::Nonfinite;
            if (kind != PointKind::Value)
                continue;
            smallest = hasValues ? std::min(smallest, curve.values[i]) : curve.values[i];
            largest = hasValues ? std::max(largest, curve.values[i]) : curve.values[i];
            hasValues = true;
        }
    if (frame.lastStep <= frame.firstStep)
        frame.lastStep = frame.firstStep + std::max(1.0, std::abs(frame.firstStep) / 2);
    if (hasValues) { // the floor as makeCurves places it
        frame.low = std::floor(std::log10(smallest) - 0.5);
        frame.high = std::max(std::ceil(std::log10(largest) * 2 + 0.1) / 2, frame.low + 1);
    }
    return frame;
}

/// 1, 2 or 5 times a power of ten, at least 1.
double stepBetweenTicks(double range) {
    const double least = std::max(range / mostSteps, 1.0);
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double digit : {1, 2, 5})
        if (digit * power >= least)
            return digit * power;
    return 10 * power;
}

std::string stepAxis(const Frame& frame, std::string_view title) {
    std::string out = svgLine(left, frame.bottom(), left + plotWidth, frame.bottom(), "axis");
    const double between = stepBetweenTicks(frame.lastStep - frame.firstStep);
    const double first = std::ceil(frame.firstStep / between);
    const double labels = frame.bottom() + (frame.hasZeros ? 2 * edge : 0) + 18;
    for (int i = 0; i <= mostSteps; ++i) {
        const double step = (first + i) * between;
        if (step > frame.lastStep)
            break;
        out += svgLine(frame.x(step), frame.bottom(), frame.x(step), frame.bottom() + 4, "axis");
        out += svgText(frame.x(step), labels, fmt::format("{:.0f}", step), "middle");
    }
    return out + svgText(left + plotWidth / 2, labels + svgLineHeight, title, "middle", "class=\"title\"");
}

std::string valueAxis(const Frame& frame, std::string_view title) {
    std::string out;
    for (const LogTick& tick : logTicks(frame.low, frame.high)) {
        if (tick.logarithm <= frame.low) // the floor has a label of its own
            continue;
        const double y = frame.y(tick.logarithm);
        out += svgLine(left, y, left + plotWidth, y, "grid");
        out += svgText(left - 8, y + 4, tick.label, "end");
    }
    out += svgLine(left, top, left, frame.bottom(), "axis");
    const double middle = top + plotHeight / 2;
    return out + svgText(16, middle, shortened(title, longestTitle), "middle",
                         fmt::format("class=\"title\" transform=\"rotate(-90 16 {:.1f})\"", middle));
}

/// The lines of what has no logarithm, each with its name.
std::string edgeLines(const Frame& frame) {
    const double end = left + plotWidth;
    std::string out = svgLine(left, frame.bottom(), end, frame.bottom(), "floor");
    out += svgText(left - 8, frame.bottom() + 4, "bit-identical", "end", "class=\"floor-label\"");
    if (frame.hasZeros) {
        out += svgLine(left, frame.bottom() + edge, end, frame.bottom() + edge, "grid");
        out += svgText(end - 4, frame.bottom() + edge + 12, "bits differ, distance 0", "end", "class=\"floor-label\"");
    }
    if (frame.hasNonfinite) {
        out += svgLine(left, top - edge, end, top - edge, "grid");
        out += svgText(end - 4, top - edge - 3, "NaN or infinite on one side, or weights not kept", "end",
                       "class=\"floor-label\"");
    }
    return out;
}

/// The line through the points that show, in pixels of the picture.
std::string curveLine(const Frame& frame, const Curve& curve) {
    std::vector<double> heights(curve.steps.size());
    for (std::size_t i = 0; i < heights.size(); ++i)
        heights[i] = frame.y(curve, i);
    std::vector<std::size_t> shown(heights.size());
    for (std::size_t i = 0; i < shown.size(); ++i)
        shown[i] = i;
    if (shown.size() > mostPoints)
        shown = decimate(curve.steps, heights, {frame.firstStep, std::nextafter(frame.lastStep, INFINITY), columns});
    std::string points;
    for (const std::size_t i : shown)
        points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", frame.x(curve.steps[i]), heights[i]);
    std::string out = fmt::format("<g class=\"{}\"><title>{}</title><polyline class=\"curve{}\" points=\"{}\"/>",
                                  runClass(curve.run), escaped(curve.name), curve.isTwin ? " twin" : "", points);
    // where it leaves the reference; a line of one point can't be seen at all
    for (std::size_t i = 0; i < heights.size() && !curve.isTwin; ++i)
        if (heights.size() == 1 || (curve.firstDivergence && curve.steps[i] == static_cast<double>(*curve.firstDivergence))) {
            out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>", frame.x(curve.steps[i]), heights[i]);
            break;
        }
    return out + "</g>\n";
}

/// Names under the plot, in as many columns as the longest allows. Adds its height to `y`.
std::string legend(const CurveView& view, double& y) {
    constexpr double swatch = 26, gap = 20;
    struct Entry {
        std::string cssClass, lineClass, name;
    };
    std::vector<Entry> entries;
    for (const Curve& curve : view.curves)
        if (!curve.isTwin)
            entries.push_back({runClass(curve.run), "curve", shortened(curve.name, longestName)});
    if (entries.size() < view.curves.size())
        entries.push_back({"any-run", "curve twin", "dashed: the run's float64 twin × 2²⁹"});
    double widest = 0;
    for (const Entry& entry : entries)
        widest = std::max(widest, svgTextWidth(entry.name));
    const double columnWidth = swatch + widest + gap;
    const auto perLine = static_cast<std::size_t>(std::max(1.0, std::floor(plotWidth / columnWidth)));
    std::string out;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const double x = left + static_cast<double>(i % perLine) * columnWidth;
        const double middle = y + static_cast<double>(i / perLine) * svgLineHeight;
        out += fmt::format("<g class=\"{}\">{}</g>", entries[i].cssClass,
                           svgLine(x, middle - 4, x + swatch - 6, middle - 4, entries[i].lineClass));
        out += svgText(x + swatch, middle, entries[i].name);
    }
    y += static_cast<double>((entries.size() + perLine - 1) / perLine) * svgLineHeight;
    return out;
}

} // namespace

std::string curvesSvg(const CurveView& view) {
    const Frame frame = frameOf(view);
    std::string content = valueAxis(frame, view.yTitle) + stepAxis(frame, view.xTitle) + edgeLines(frame);
    for (const bool areTwins : {true, false}) // the runs' own curves on top
        for (const Curve& curve : view.curves)
            if (curve.isTwin == areTwins)
                content += curveLine(frame, curve);
    double y = frame.bottom() + (frame.hasZeros ? 2 * edge : 0) + 18 + 2.5 * svgLineHeight;
    content += legend(view, y);
    return svgDocument(left + plotWidth + right, y, fmt::format("{}: {} by step", view.title, view.yTitle), content);
}

} // namespace driftscope
