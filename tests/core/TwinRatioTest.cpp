// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/TwinRatio.h"

#include <gtest/gtest.h>

#include <cmath>

namespace driftscope {
namespace {

/// The model's relative L2 distance at each step.
RunComparison distances(const std::vector<std::pair<std::int64_t, double>>& rows) {
    RunComparison comparison;
    comparison.scopes = {{ScopeKind::Model, ""}};
    for (auto& values : comparison.values)
        values.assign(rows.size(), 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        comparison.steps.push_back(rows[i].first);
        comparison.values[static_cast<std::size_t>(Metric::RelativeL2)][i] = rows[i].second;
    }
    return comparison;
}

RecordedEvidence firstGradient(std::int64_t step, double relative) {
    RecordedEvidence evidence;
    evidence.rows.push_back({.step = step, .differsInGradient = true, .gradient = GradientEvidence{.relative = relative}});
    return evidence;
}

TEST(TwinRatio, MedianOfTheFirstFiveRowsThatDiffer) {
    const RunComparison runs = distances({{0, 0}, {1, 0}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}});
    const RunComparison twins = distances({{0, 0}, {1, 0}, {2, 5}, {3, 1}, {4, 4}, {5, 2}, {6, 3}, {7, 100}});
    const TwinRatio ratio = twinRatio(runs, twins, 10);
    EXPECT_TRUE(ratio.isUsable);
    EXPECT_EQ(ratio.rows, 5U);
    EXPECT_EQ(ratio.median, 3);
    EXPECT_TRUE(std::isnan(ratio.ofGradients));
}

TEST(TwinRatio, GradientsOfTheFirstStepThatDiffers) {
    const RunComparison same = distances({{0, 0}, {1, 1e-8}});
    const RecordedEvidence runs = firstGradient(1, 1e-7), twins = firstGradient(1, 2e-16);
    EXPECT_DOUBLE_EQ(twinRatio(same, same, 1, &runs, &twins).ofGradients, 2e-9);
    const RecordedEvidence later = firstGradient(2, 2e-16);
    EXPECT_TRUE(std::isnan(twinRatio(same, same, 1, &runs, &later).ofGradients));
}

TEST(TwinRatio, SaturatedOrInitialDifferencesTellNothing) {
    EXPECT_FALSE(twinRatio(distances({{0, 0}, {1, 0.5}}), distances({{0, 0}, {1, 1e-10}}), 0.05).isUsable);
    const TwinRatio initial = twinRatio(distances({{0, 1e-8}, {1, 1e-8}}), distances({{0, 1e-8}, {1, 1e-8}}), 0.05);
    EXPECT_FALSE(initial.isUsable);
    EXPECT_NE(initial.whyNot.find("initial weights"), std::string::npos);
    EXPECT_FALSE(twinRatio(distances({{0, 0}, {2, 1}}), distances({{1, 0}, {3, 1}}), 1).isUsable);
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(twinRatio(distances({{1, unknown}}), distances({{1, unknown}}), 1).isUsable);
}

// Rounding from step 1 on, another function at step 3: the twins leap, and nothing else does.
TEST(TwinRatio, ALeapBehindRounding) {
    const RunComparison runs = distances({{1, 1e-8}, {2, 2e-8}, {3, 1e-3}, {4, 1e-3}});
    const TwinRatio ratio = twinRatio(runs, distances({{1, 1e-17}, {2, 2e-17}, {3, 1e-3}, {4, 1e-3}}), 0.05);
    EXPECT_EQ(ratio.leapStep, 3);
    EXPECT_EQ(ratio.unseenAfter, -1);
    EXPECT_EQ(twinRatio(runs, distances({{1, 1e-17}, {2, 2e-17}, {3, 1e-12}, {4, 1e-12}}), 0.05).leapStep, -1);
}

// A leap is seen behind saturation too, where the runs themselves tell nothing any more.
TEST(TwinRatio, ALeapBehindSaturation) {
    const TwinRatio ratio = twinRatio(distances({{1, 1e-8}, {2, 0.5}, {3, 0.6}, {4, 0.6}}),
                                      distances({{1, 1e-17}, {2, 1e-15}, {3, 1e-14}, {4, 0.1}}), 0.05);
    EXPECT_EQ(ratio.leapStep, 4);
}

// Growth that catches up with runs that have saturated is no leap.
TEST(TwinRatio, SlowGrowthIsNoLeap) {
    std::vector<std::pair<std::int64_t, double>> runs, twins;
    for (std::int64_t step = 1; step <= 200; ++step) {
        runs.emplace_back(step, std::min(0.5, 1e-8 * std::pow(1.19, static_cast<double>(step))));
        twins.emplace_back(step, std::min(0.5, 1e-17 * std::pow(1.19, static_cast<double>(step))));
    }
    const TwinRatio ratio = twinRatio(distances(runs), distances(twins), 0.05);
    EXPECT_EQ(ratio.leapStep, -1);
    EXPECT_EQ(ratio.unseenAfter, -1);
    EXPECT_NEAR(ratio.median, 1e-9, 1e-15);
}

TEST(TwinRatio, RowsFarApartMayHideALeap) {
    const TwinRatio ratio = twinRatio(distances({{1, 1e-8}, {10, 1e-8}, {500, 0.01}}),
                                      distances({{1, 1e-17}, {10, 1e-17}, {500, 0.01}}), 0.05);
    EXPECT_EQ(ratio.leapStep, -1);
    EXPECT_EQ(ratio.unseenAfter, 10);
}

} // namespace
} // namespace driftscope
