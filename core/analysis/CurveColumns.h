// SPDX-License-Identifier: GPL-3.0-or-later
// Long curves in terms of the pixels of a plot: which points matter, and what their line covers.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace driftscope {

/// Pixels of a plot: `columns` of equal width over the steps from left to right, and `rows` of equal
/// height over the values from bottom to top, row 0 at the top. left < right, bottom < top.
struct PixelGrid {
    double left = 0, right = 1;
    std::size_t columns = 1;
    double bottom = 0, top = 1;
    std::size_t rows = 1;
    bool isLogarithmic = false; ///< of the values; bottom and all values are then > 0

    bool operator==(const PixelGrid&) const = default;
};

/// A point in pixels from the grid's top left corner; it may lie outside.
struct PixelPoint {
    double x = 0, y = 0;
};

/// What a line covers of a column: rows from top to bottom, exact to a part of a pixel.
struct ColumnRun {
    float top = std::numeric_limits<float>::max();
    float bottom = std::numeric_limits<float>::lowest();

    [[nodiscard]] bool isEmpty() const { return top > bottom; }
    bool operator==(const ColumnRun&) const = default;
};

/// Positions, rising, of the points whose line covers the same pixels as that of all points: the first,
/// last, smallest and largest of each column (M4: Jugel et al., VLDB 2014), and the two beside the grid to
/// which lines lead out of it. A point on the floor is the smallest of its column and thus never lost.
/// `steps` rise, `values` are finite and as many.
std::vector<std::size_t> decimate(std::span<const double> steps, std::span<const double> values,
                                  const PixelGrid& grid);

/// The points that decimate keeps, in pixels.
std::vector<PixelPoint> decimatedPixels(std::span<const double> steps, std::span<const double> values,
                                        const PixelGrid& grid);

/// What the line through the points, whose x rise, covers of each column.
std::vector<ColumnRun> columnRuns(std::span<const PixelPoint> line, std::size_t columns);

} // namespace driftscope
