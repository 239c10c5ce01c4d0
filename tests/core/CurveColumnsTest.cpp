// SPDX-License-Identifier: GPL-3.0-or-later
// What is drawn of a long curve, against the curve with all its points.
#include "analysis/CurveColumns.h"
#include "analysis/Logarithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace driftscope {
namespace {

struct Line {
    std::vector<double> steps, values;
};

/// Steps 0, 1, 2, …; values over many decades, one in fifty of them on the floor.
Line randomLine(std::size_t points, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(-6, 1);
    Line line{std::vector<double>(points), std::vector<double>(points)};
    std::iota(line.steps.begin(), line.steps.end(), 0);
    for (double& value : line.values)
        value = random() % 50 == 0 ? 1e-10 : std::pow(10, normal(random));
    return line;
}

/// A grid whose columns are a power of two of steps wide, so that no step is beside its column.
PixelGrid gridFrom(double left, double stepsPerColumn, bool isLogarithmic = true) {
    constexpr std::size_t columns = 64;
    return {left, left + stepsPerColumn * columns, columns, 1e-11, 1, 100, isLogarithmic};
}

/// Every point in pixels, the plain way.
std::vector<PixelPoint> allPixels(const Line& line, const PixelGrid& grid) {
    const auto height = [&](double value) {
        return grid.isLogarithmic ? std::log10(value) : value;
    };
    std::vector<PixelPoint> pixels;
    for (std::size_t i = 0; i < line.steps.size(); ++i)
        pixels.push_back({(line.steps[i] - grid.left) / (grid.right - grid.left) *
                              static_cast<double>(grid.columns),
                          (height(grid.top) - height(line.values[i])) /
                              (height(grid.top) - height(grid.bottom)) *
                              static_cast<double>(grid.rows)});
    return pixels;
}

TEST(CurveColumns, FewPointsCoverWhatAllCover) {
    for (const std::size_t points : {0, 1, 2, 63, 1000, 5000})
        for (const double width : {0.25, 1.0, 8.0, 64.0})
            for (const double left : {-32.0, 0.0, 500.0, 10'000.0})
                for (const bool isLogarithmic : {true, false}) {
                    const Line line = randomLine(points, static_cast<unsigned>(points));
                    const PixelGrid grid = gridFrom(left, width, isLogarithmic);
                    const auto few = decimatedPixels(line.steps, line.values, grid);
                    EXPECT_LE(few.size(), 4 * grid.columns + 2);
                    const auto runs = columnRuns(few, grid.columns);
                    const auto wanted = columnRuns(allPixels(line, grid), grid.columns);
                    ASSERT_EQ(runs.size(), wanted.size());
                    for (std::size_t i = 0; i < runs.size(); ++i) {
                        ASSERT_EQ(runs[i].isEmpty(), wanted[i].isEmpty()) << i;
                        if (runs[i].isEmpty())
                            continue;
                        EXPECT_NEAR(runs[i].top, wanted[i].top, 1e-3) << i;
                        EXPECT_NEAR(runs[i].bottom, wanted[i].bottom, 1e-3) << i;
                    }
                }
}

TEST(CurveColumns, KeepsFirstExtremesAndLastOfEachColumnAndTheNeighboursOfTheGrid) {
    const std::vector<double> steps{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::vector<double> values{1, 5, 3, 9, 4, 2, 2, 2, 7, 8};
    const PixelGrid grid{1, 9, 2, 0, 10, 10, false};
    // columns 1–4 and 5–8; in the second the smallest is the first
    EXPECT_EQ(decimate(steps, values, grid), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 8, 9}));
    EXPECT_EQ(decimate(steps, values, {0, 10, 1, 0, 10, 10, false}),
              (std::vector<std::size_t>{0, 3, 9}));
    EXPECT_TRUE(decimate({}, {}, grid).empty());
}

TEST(CurveColumns, NoPointOnTheFloorIsLost) {
    const Line line = randomLine(5000, 3);
    const PixelGrid grid = gridFrom(0, 128);
    const auto kept = decimate(line.steps, line.values, grid);
    for (std::size_t column = 0; column < 5000 / 128; ++column) {
        const auto begin = line.values.begin() + static_cast<std::ptrdiff_t>(128 * column);
        const bool hasFloor = std::find(begin, begin + 128, 1e-10) != begin + 128;
        EXPECT_EQ(hasFloor, std::ranges::any_of(kept, [&](std::size_t i) {
                      return i / 128 == column && line.values[i] == 1e-10;
                  }));
    }
}

TEST(CurveColumns, RunsWorkedOutByHand) {
    const std::vector<PixelPoint> line{{-1, 0}, {0.5, 15}, {2.5, 35}, {2.75, 20}, {9, 20}};
    const auto runs = columnRuns(line, 4);
    EXPECT_EQ(runs, (std::vector<ColumnRun>{{10, 20}, {20, 30}, {20, 35}, {20, 20}}));
    EXPECT_TRUE(columnRuns({}, 1)[0].isEmpty());
    EXPECT_TRUE(columnRuns(std::vector<PixelPoint>{{-5, 1}, {-2, 1}}, 2)[0].isEmpty());
}

TEST(CurveColumns, LogarithmicRows) {
    const std::vector<double> steps{0, 5, 10}, values{1e-8, 1e-4, 1};
    const auto pixels = decimatedPixels(steps, values, {0, 20, 40, 1e-8, 1, 80, true});
    ASSERT_EQ(pixels.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_DOUBLE_EQ(pixels[i].x, 10.0 * static_cast<double>(i));
        EXPECT_NEAR(pixels[i].y, 80 - 40.0 * static_cast<double>(i), 1e-9);
    }
}

TEST(Logarithms, AreThoseOfTheStandardLibraryForAnyLength) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> exponent(-307, 308);
    for (std::size_t n = 0; n < 40; ++n) {
        std::vector<double> values(n);
        for (double& value : values)
            value = std::pow(10, exponent(random));
        if (n > 2) {
            values[0] = 1;
            values[1] = std::numeric_limits<double>::denorm_min();
        }
        std::vector<double> logarithms = values;
        takeLogarithms(logarithms);
        for (std::size_t i = 0; i < n; ++i)
            EXPECT_NEAR(logarithms[i], std::log(values[i]), 1e-15 * std::abs(std::log(values[i])))
                << values[i];
    }
}

} // namespace
} // namespace driftscope
