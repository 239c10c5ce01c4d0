// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Markup.h"
#include "analysis/SvgPlots.h"
#include "analysis/SvgText.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

namespace driftscope {
namespace {

constexpr double cellHeight = 24, cellWidth = 68; ///< with its value in it
constexpr double narrowWidth = 24;                ///< without
constexpr std::size_t mostWideColumns = 12;
constexpr std::size_t longestName = 40;
constexpr double margin = 16, gap = 2;
constexpr double scaleWidth = 320, scaleHeight = 14;
constexpr double slope = 0.70710678; ///< of column names at 45 degrees

struct Color {
    double red = 0, green = 0, blue = 0;
};

/// viridis (S. van der Walt and N. Smith, 2015; CC0), as in the window.
Color viridis(double position) {
    static constexpr std::array<std::uint32_t, 16> stops{0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e,
                                                         0x2a788e, 0x23888e, 0x1f988b, 0x22a884, 0x35b779, 0x54c568,
                                                         0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};
    const double at = std::clamp(position, 0.0, 1.0) * (stops.size() - 1);
    const auto before = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    const double share = at - static_cast<double>(before);
    const auto part = [&](unsigned shift) {
        const double from = stops[before] >> shift & 0xFFU, to = stops[before + 1] >> shift & 0xFFU;
        return from + share * (to - from);
    };
    return {part(16), part(8), part(0)};
}

std::string toText(const Color& color) {
    return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(color.red + 0.5), static_cast<int>(color.green + 0.5),
                       static_cast<int>(color.blue + 0.5));
}

/// Black text is easier to read on it than white.
bool isBright(const Color& color) { return 0.299 * color.red + 0.587 * color.green + 0.114 * color.blue > 110; }

/// The range of colours, in decimal logarithms.
struct ColorScale {
    double low = 0, high = 0;
    bool hasRange = false;

    explicit ColorScale(const HeatmapView& view) : hasRange(view.smallest > 0 && view.largest >= view.smallest) {
        if (!hasRange)
            return;
        low = std::log10(view.smallest);
        high = std::log10(view.largest);
        if (high - low < 0.1) { // one colour would tell nothing
            low -= 0.5;
            high += 0.5;
        }
    }
    [[nodiscard]] Color color(double value) const {
        return viridis(value > 0 ? (std::log10(value) - low) / (high - low) : 0);
    }
};

std::string cellText(const HeatmapCell& cell) {
    switch (cell.kind) {
    case CellKind::Value: return shortNumber(cell.value);
    case CellKind::Identical: return "=";
    case CellKind::Nonfinite: return "∞ ?";
    case CellKind::Reference: return "ref";
    case CellKind::Unavailable:
    case CellKind::Missing: break;
    }
    return "";
}

std::string_view cssClassOf(CellKind kind) {
    switch (kind) {
    case CellKind::Identical: return "class=\"identical\"";
    case CellKind::Nonfinite: return "class=\"nonfinite\"";
    case CellKind::Reference: return "class=\"reference\"";
    case CellKind::Unavailable: return "fill=\"url(#hatch)\"";
    case CellKind::Missing:
    case CellKind::Value: break;
    }
    return "class=\"missing\"";
}

std::string_view nameOf(CellKind kind) {
    switch (kind) {
    case CellKind::Identical: return "bit-identical";
    case CellKind::Nonfinite: return "not finite, or not kept";
    case CellKind::Reference: return "the reference";
    case CellKind::Unavailable: return "unavailable";
    case CellKind::Missing: return "nothing recorded";
    case CellKind::Value: break;
    }
    return "";
}

/// A rectangle with a hint of its own.
std::string rectangle(double x, double y, double width, double height, std::string_view look,
                      std::string_view detail = "") {
    const std::string shape =
        fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" {}", x, y, width, height, look);
    return detail.empty() ? shape + "/>\n" : fmt::format("{}><title>{}</title></rect>\n", shape, escaped(detail));
}

struct Layout {
    double left = 0, top = 0, width = cellWidth;
    double right = 0, bottom = 0; ///< of the cells
    double pictureWidth = 0;
};

Layout layoutOf(const HeatmapView& view, const HeatmapPanel& panel) {
    const auto widest = [](const std::vector<std::string>& labels) {
        double width = 0;
        for (const std::string& label : labels)
            width = std::max(width, svgTextWidth(shortened(label, longestName)));
        return width;
    };
    Layout layout;
    const double columnNames = widest(panel.columnLabels) * slope;
    layout.width = panel.columnLabels.size() <= mostWideColumns ? cellWidth : narrowWidth;
    layout.left = margin + std::max(widest(panel.rowLabels), svgTextWidth(view.rowTitle)) + 10;
    layout.top = margin + columnNames + 14;
    layout.right = layout.left + layout.width * static_cast<double>(panel.columnLabels.size());
    layout.bottom = layout.top + cellHeight * static_cast<double>(panel.rowLabels.size());
    // the last column's name leans out to the right
    layout.pictureWidth = std::max(layout.right + columnNames, layout.left + scaleWidth + 60) + margin;
    return layout;
}

std::string labels(const HeatmapView& view, const HeatmapPanel& panel, const Layout& layout) {
    std::string out = svgText(layout.left - 10, layout.top - 8, view.rowTitle, "end", "class=\"title\"");
    for (std::size_t i = 0; i < panel.rowLabels.size(); ++i)
        out += svgText(layout.left - 10, layout.top + cellHeight * (static_cast<double>(i) + 0.5) + 4,
                       shortened(panel.rowLabels[i], longestName), "end");
    for (std::size_t i = 0; i < panel.columnLabels.size(); ++i) {
        const double x = layout.left + layout.width * (static_cast<double>(i) + 0.5), y = layout.top - 8;
        out += svgText(x, y, shortened(panel.columnLabels[i], longestName), "start",
                       fmt::format("transform=\"rotate(-45 {:.1f} {:.1f})\"", x, y));
    }
    return out;
}

std::string cells(const HeatmapPanel& panel, const Layout& layout, const ColorScale& scale) {
    std::string out;
    const std::size_t columns = panel.columnLabels.size();
    const bool hasText = layout.width >= cellWidth;
    for (std::size_t i = 0; i < panel.cells.size(); ++i) {
        const HeatmapCell& cell = panel.cells[i];
        const double x = layout.left + layout.width * static_cast<double>(i % columns);
        const double y = layout.top + cellHeight * static_cast<double>(i / columns);
        const bool hasColor = cell.kind == CellKind::Value;
        const Color color = scale.color(cell.value);
        out += rectangle(x + gap / 2, y + gap / 2, layout.width - gap, cellHeight - gap,
                         hasColor ? fmt::format("fill=\"{}\"", toText(color)) : std::string(cssClassOf(cell.kind)),
                         cell.detail);
        if (const std::string text = cellText(cell); hasText && !text.empty()) {
            // no pointer events: hovering over the number shows the cell's details too
            const std::string_view look = cell.kind == CellKind::Nonfinite ? " class=\"on-nonfinite\""
                                          : !hasColor                      ? ""
                                          : isBright(color)                ? " class=\"on-light\""
                                                                           : " class=\"on-dark\"";
            out += svgText(x + layout.width / 2, y + cellHeight / 2 + 4, text, "middle",
                           fmt::format("pointer-events=\"none\"{}", look));
        }
    }
    return out;
}

std::vector<LogTick> scaleTicks(const ColorScale& scale) {
    std::vector<LogTick> ticks = logTicks(scale.low, scale.high);
    if (ticks.size() < 2) // too narrow for round numbers
        ticks = {{scale.low, shortNumber(std::pow(10, scale.low))}, {scale.high, shortNumber(std::pow(10, scale.high))}};
    return ticks;
}

/// The colours with their values, then what has no value. Adds its height to `y`.
std::string colorScale(const HeatmapView& view, const HeatmapPanel& panel, const ColorScale& scale, double left,
                       double& y) {
    std::string out;
    if (scale.hasRange) {
        constexpr int strips = 64;
        out += svgText(left, y, view.valueTitle, "start", "class=\"title\"");
        y += 8;
        for (int i = 0; i < strips; ++i) // a pixel over the next one, so that no background shows between them
            out += rectangle(left + scaleWidth * i / strips, y, scaleWidth / strips + (i + 1 < strips ? 1 : 0), scaleHeight,
                             fmt::format("fill=\"{}\"", toText(viridis((i + 0.5) / strips))));
        double free = -1;
        for (const LogTick& tick : scaleTicks(scale)) {
            const double x = left + scaleWidth * (tick.logarithm - scale.low) / (scale.high - scale.low);
            out += svgLine(x, y + scaleHeight, x, y + scaleHeight + 4, "axis");
            const double half = svgTextWidth(tick.label) / 2;
            if (x - half < free)
                continue;
            out += svgText(x, y + scaleHeight + 17, tick.label, "middle");
            free = x + half + 6;
        }
        y += scaleHeight + 2 * svgLineHeight;
    }
    for (const CellKind kind : {CellKind::Identical, CellKind::Nonfinite, CellKind::Reference, CellKind::Unavailable,
                                CellKind::Missing}) {
        if (std::ranges::find(panel.cells, kind, &HeatmapCell::kind) == panel.cells.end())
            continue;
        out += rectangle(left, y - 11, 16, 14, cssClassOf(kind));
        out += svgText(left + 24, y, nameOf(kind));
        y += svgLineHeight;
    }
    return out;
}

} // namespace

std::string heatmapSvg(const HeatmapView& view) {
    static const HeatmapPanel none;
    const HeatmapPanel& panel = view.panels.empty() ? none : view.panels.front();
    const ColorScale scale(view);
    const Layout layout = layoutOf(view, panel);
    std::string content = "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
                          "patternTransform=\"rotate(45)\">" +
                          svgLine(0, 0, 0, 6, "hatch") + "</pattern></defs>\n";
    content += labels(view, panel, layout) + cells(panel, layout, scale);
    double y = layout.bottom + 1.5 * svgLineHeight;
    content += colorScale(view, panel, scale, layout.left, y);
    return svgDocument(layout.pictureWidth, y, view.title, content);
}

} // namespace driftscope
