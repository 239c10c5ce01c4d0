// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/CurveColumns.h"

#include "analysis/Logarithms.h"

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

/// Appends the first, smallest, largest and last of the points in [begin, end), each once.
void appendExtremes(std::span<const double> values, std::size_t begin, std::size_t end,
                    std::vector<std::size_t>& kept) {
    std::size_t smallest = begin, largest = begin;
    double least = values[begin], most = values[begin];
    for (std::size_t i = begin + 1; i < end; ++i) {
        const double value = values[i];
        smallest = value < least ? i : smallest;
        least = value < least ? value : least;
        largest = value > most ? i : largest;
        most = value > most ? value : most;
    }
    const auto [earlier, later] = std::minmax(smallest, largest);
    kept.push_back(begin);
    for (const std::size_t i : {earlier, later, end - 1})
        if (i != kept.back())
            kept.push_back(i);
}

/// The first position from `from` on whose step is not below `limit`; most often near from + stride.
std::size_t findEnd(std::span<const double> steps, std::size_t from, std::size_t stride, double limit) {
    std::size_t end = std::min(from + stride, steps.size());
    while (end > from && steps[end - 1] >= limit)
        --end;
    while (end < steps.size() && steps[end] < limit)
        ++end;
    return end;
}

void cover(ColumnRun& run, double y) {
    run.top = std::min(run.top, static_cast<float>(y));
    run.bottom = std::max(run.bottom, static_cast<float>(y));
}

} // namespace

std::vector<std::size_t> decimate(std::span<const double> steps, std::span<const double> values,
                                  const PixelGrid& grid) {
    std::vector<std::size_t> kept;
    kept.reserve(std::min(steps.size(), 4 * grid.columns + 2));
    auto begin = static_cast<std::size_t>(std::ranges::lower_bound(steps, grid.left) - steps.begin());
    if (begin > 0)
        kept.push_back(begin - 1);
    const double width = (grid.right - grid.left) / static_cast<double>(grid.columns);
    std::size_t stride = 0;
    for (std::size_t column = 0; column < grid.columns && begin < steps.size(); ++column) {
        const std::size_t end =
            findEnd(steps, begin, stride, grid.left + width * static_cast<double>(column + 1));
        if (end > begin)
            appendExtremes(values, begin, end, kept);
        stride = end - begin;
        begin = end;
    }
    if (begin < steps.size())
        kept.push_back(begin);
    return kept;
}

std::vector<PixelPoint> decimatedPixels(std::span<const double> steps, std::span<const double> values,
                                        const PixelGrid& grid) {
    const std::vector<std::size_t> kept = decimate(steps, values, grid);
    std::vector<double> heights{grid.bottom, grid.top};
    heights.reserve(kept.size() + 2);
    for (const std::size_t i : kept)
        heights.push_back(values[i]);
    if (grid.isLogarithmic)
        takeLogarithms(heights);
    const double bottom = heights[0];
    const auto rows = static_cast<double>(grid.rows);
    const double perHeight = rows / (heights[1] - bottom);
    const double perStep = static_cast<double>(grid.columns) / (grid.right - grid.left);
    std::vector<PixelPoint> pixels(kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i)
        pixels[i] = {(steps[kept[i]] - grid.left) * perStep, rows - (heights[i + 2] - bottom) * perHeight};
    return pixels;
}

std::vector<ColumnRun> columnRuns(std::span<const PixelPoint> line, std::size_t columns) {
    std::vector<ColumnRun> runs(columns);
    const auto last = static_cast<double>(columns);
    // -1 and `columns` stand for all columns outside
    const auto columnOf = [&](double x) {
        return static_cast<std::ptrdiff_t>(std::clamp(x, -1.0, last) + 1) - 1;
    };
    const auto coverColumn = [&](std::ptrdiff_t column, double y) {
        if (column >= 0 && column < static_cast<std::ptrdiff_t>(columns))
            cover(runs[static_cast<std::size_t>(column)], y);
    };
    for (std::size_t i = 0; i < line.size(); ++i) {
        const std::ptrdiff_t end = columnOf(line[i].x);
        coverColumn(end, line[i].y);
        if (i == 0)
            continue;
        const std::ptrdiff_t begin = columnOf(line[i - 1].x);
        const double slope = (line[i].y - line[i - 1].y) / (line[i].x - line[i - 1].x);
        for (std::ptrdiff_t column = begin; column < end; ++column) { // through its right edge
            const double y = line[i - 1].y + (static_cast<double>(column + 1) - line[i - 1].x) * slope;
            coverColumn(column, y);
            coverColumn(column + 1, y);
        }
    }
    return runs;
}

} // namespace driftscope
