// SPDX-License-Identifier: GPL-3.0-or-later
// Runs whose weights are written out by hand: which axis moves them, and how far.
#include "analysis/Attribution.h"

#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace driftscope {
namespace {

/// fc1.weight (3, 4) and out.bias (12), less what `offset` says of a run's fc1.weight[0] in the last row. ‖r‖ = 13.
void writeRuns(const StudyFolder& study, const std::function<double(const RunConfig&)>& offset) {
    for (const RunConfig& config : study.runs) {
        test::TestRun run{config, {{"fc1.weight", DType::Float32, {2}}, {"out.bias", DType::Float32, {1}}}, {}};
        for (std::int64_t step = 0; step < 3; ++step)
            run.rows.push_back({step, {{3 + (step == 2 ? offset(config) : 0), 4}, {12}}});
        test::writeRun(study.runFile(config), run);
    }
}

const AxisEffect& effect(const Attribution& attribution, const std::string& axis) {
    return *std::ranges::find(attribution.axes, axis, &AxisEffect::axis);
}

TEST(Attribution, EachAxisByItself) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]\nseed = [1, 2, 3]\ninit_threads = [1, 2]");
    writeRuns(study, [](const RunConfig& run) {
        return (run.train.threads == 2 ? 0.25 : 0) + static_cast<double>(run.train.seed - 1);
    });
    const Attribution found = attribute(loadResults(study), 2);
    ASSERT_EQ(found.axes.size(), 3U);
    EXPECT_EQ(found.axes[0].axis, "seed");
    EXPECT_EQ(found.axes[2].axis, "init_threads");

    const AxisEffect& threads = effect(found, "threads");
    EXPECT_EQ(threads.pairs, 6U);
    EXPECT_EQ(threads.compared, 6U);
    EXPECT_EQ(threads.identical, 0U);
    // 0.25 / ‖(3 or 4 or 5, 4, 12)‖
    EXPECT_NEAR(threads.largest, 0.25 / 13, 1e-9);
    EXPECT_NEAR(threads.median, 0.25 / std::sqrt(16.0 + 16 + 144), 1e-9);
    ASSERT_EQ(threads.layers.size(), 2U);
    EXPECT_EQ(threads.layers[0].name, "fc1");
    EXPECT_NEAR(threads.layers[0].median, 0.25 / std::sqrt(32.0), 1e-9);
    EXPECT_EQ(threads.layers[0].identical, 0U);
    EXPECT_EQ(threads.layers[1].identical, 6U);
    EXPECT_EQ(threads.layers[1].median, 0);

    const AxisEffect& none = effect(found, "init_threads");
    EXPECT_EQ(none.pairs, 6U);
    EXPECT_EQ(none.identical, 6U);
    EXPECT_EQ(none.median, 0);
    EXPECT_EQ(effect(found, "seed").pairs, 12U);
    EXPECT_TRUE(found.interactions.empty());
}

TEST(Attribution, TogetherWhatNeitherDoesAlone) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]\naccumulation = [1, 2]");
    writeRuns(study, [](const RunConfig& run) {
        return run.train.threads == 2 && run.train.accumulation == 2 ? 0.5 : 0;
    });
    const Attribution found = attribute(loadResults(study), 1);
    ASSERT_EQ(found.interactions.size(), 1U);
    EXPECT_EQ(found.interactions[0].example, "threads 1 → 2 with accumulation 1 → 2");
    EXPECT_NEAR(found.interactions[0].together, 0.5 / 13, 1e-9);
    EXPECT_EQ(found.interactions[0].alone, 0);
}

TEST(Attribution, LeavesOutWhatHasNotFinished) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]", "twin = \"float64\"");
    writeRuns(study, [](const RunConfig& run) { return run.isTwin ? 1 : 0; });
    const Attribution found = attribute(loadResults(study), 1);
    EXPECT_EQ(effect(found, "threads").pairs, 1U);
    EXPECT_EQ(effect(found, "threads").identical, 1U);
    std::filesystem::remove(study.runFile(study.runs[1]));
    EXPECT_EQ(effect(attribute(loadResults(study), 1), "threads").pairs, 0U);
}

// Digests tell that bits differ, not how far: such an axis ranks behind known distances and before none.
TEST(Attribution, OfDigestsAlone) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(
        folder / "s", "threads = [1, 2]\ninit_threads = [1, 2]\n[record]\nweights = \"digest\"");
    writeRuns(study, [](const RunConfig& run) { return run.train.threads == 2 ? 0.5 : 0; });
    const Attribution found = attribute(loadResults(study), 1);
    ASSERT_EQ(found.axes.size(), 2U);
    EXPECT_EQ(found.axes[0].axis, "threads");
    EXPECT_EQ(found.axes[0].identical, 0U);
    EXPECT_TRUE(std::isnan(found.axes[0].median));
    EXPECT_TRUE(std::isnan(found.axes[0].largest));
    ASSERT_EQ(found.axes[0].layers.size(), 2U);
    EXPECT_TRUE(std::isnan(found.axes[0].layers[0].median));
    EXPECT_EQ(found.axes[0].layers[0].identical, 0U);
    EXPECT_EQ(found.axes[0].layers[1].identical, 2U); // out.bias has the same digest
    EXPECT_EQ(found.axes[0].layers[1].median, 0);
    EXPECT_EQ(found.axes[1].identical, 2U);
    EXPECT_EQ(found.axes[1].median, 0);
}

TEST(Attribution, ManyPairsAreSampledEvenly) {
    const test::TemporaryFolder folder;
    std::ostringstream seeds;
    seeds << 1;
    for (int seed = 2; seed <= 20; ++seed)
        seeds << "," << seed;
    const StudyFolder study = test::tinyStudy(folder / "s", "seed = [" + seeds.str() + "]");
    writeRuns(study, [](const RunConfig& run) { return static_cast<double>(run.train.seed); });
    const AxisEffect& seed = effect(attribute(loadResults(study), 2), "seed");
    EXPECT_EQ(seed.pairs, 190U);
    EXPECT_EQ(seed.compared, 64U);
    EXPECT_GT(seed.median, 0);
}

} // namespace
} // namespace driftscope
