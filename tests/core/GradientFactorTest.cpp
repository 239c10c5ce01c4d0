// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/GradientFactor.h"

#include "support/RunFiles.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace driftscope {
namespace {

/// Steps 0 … n with this distance of the weights at each.
RunComparison distances(const std::vector<double>& relative) {
    RunComparison comparison;
    comparison.scopes = {{ScopeKind::Model, ""}};
    for (auto& values : comparison.values)
        values.assign(relative.size(), 0);
    for (std::size_t i = 0; i < relative.size(); ++i) {
        comparison.steps.push_back(static_cast<std::int64_t>(i));
        comparison.values[static_cast<std::size_t>(Metric::RelativeL2)][i] = relative[i];
    }
    return comparison;
}

EvidenceRow row(std::int64_t step, double factor, bool isIncomplete = false, double spread = 0, double cosine = 0) {
    return {.step = step,
            .isIncomplete = isIncomplete,
            .gradient = GradientEvidence{std::abs(factor - 1), factor, spread, cosine}};
}

TEST(GradientFactor, FromTheFirstStepOn) {
    const GradientFactor found = gradientFactor({{row(1, 4), row(2, 4)}}, distances({0, 1e-6, 1e-6}));
    EXPECT_EQ(found.factor, 4);
    EXPECT_EQ(found.steps, (std::vector<std::int64_t>{1, 2}));
    EXPECT_FALSE(found.isOnlyIncomplete);
}

TEST(GradientFactor, OnlyInIncompleteUpdates) {
    const GradientFactor found =
        gradientFactor({{row(1, 1), row(2, 0.125, true), row(3, 1), row(4, 0.125, true)}}, distances({0, 0, 0, 0, 0}));
    EXPECT_EQ(found.factor, 0.125);
    EXPECT_EQ(found.steps, (std::vector<std::int64_t>{2, 4}));
    EXPECT_TRUE(found.isOnlyIncomplete);
}

TEST(GradientFactor, NoneWhereTensorsOrDirectionsDisagree) {
    for (const EvidenceRow& each : {row(1, 1 + 1e-6), row(1, 4, false, 0.5), row(1, 4, false, 0, 0.1), row(1, -1)})
        EXPECT_TRUE(gradientFactor({{each}}, distances({0, 0})).steps.empty());
}

TEST(GradientFactor, NotReadWhereTheWeightsHaveParted) {
    EXPECT_TRUE(gradientFactor({{row(2, 4)}}, distances({0, 0.01, 0.01})).steps.empty());
    EXPECT_TRUE(gradientFactor({{row(5, 4)}}, distances({0, 0})).steps.empty()); // step 4 is not recorded
}

// Two tensors, gradients written out by hand.
TEST(RecordedEvidence, GradientsSamplesAndBatches) {
    const test::TemporaryFolder folder;
    test::TestRun reference{test::tinyConfig("r", 2), {{"a.weight", DType::Float32, {2}}, {"b.bias", DType::Float32, {1}}}, {}};
    reference.config.record.gradients = "full";
    reference.rows = {{0, {{1, 1}, {1}}},
                      {1, {{1, 1}, {1}}, {{3, 4}, {2}}, 0.5, {7, 8}, Digest{1, 1}},
                      {2, {{1, 1}, {1}}, {{3, 4}, {2}}, 0.5, {9}, Digest{1, 1}}};
    test::TestRun run = reference;
    run.config.id = "a";
    run.rows[1].gradients = {{6, 8}, {4}};
    run.rows[1].sampleIds = {8, 7};
    run.rows[2].gradients = {{3, 4}, {3}};
    run.rows[2].batchDigest = {2, 2};
    test::writeRun(folder / "r.h5", reference);
    test::writeRun(folder / "a.h5", run);
    RecordedEvidence evidence;
    gatherEvidence(RunReader(folder / "a.h5"), RunReader(folder / "r.h5"), evidence);
    ASSERT_EQ(evidence.rows.size(), 3U);
    EXPECT_FALSE(evidence.rows[0].gradient);

    const EvidenceRow& doubled = evidence.rows[1];
    EXPECT_EQ(doubled.samples, SampleSets::Reordered);
    EXPECT_TRUE(doubled.differsInGradient);
    EXPECT_FALSE(doubled.isIncomplete);
    ASSERT_TRUE(doubled.gradient);
    EXPECT_DOUBLE_EQ(doubled.gradient->factor, 2);
    EXPECT_DOUBLE_EQ(doubled.gradient->relative, 1);
    EXPECT_NEAR(doubled.gradient->factorSpread, 0, 1e-15);
    EXPECT_NEAR(doubled.gradient->cosineDistance, 0, 1e-15);

    const EvidenceRow& other = evidence.rows[2];
    EXPECT_EQ(other.samples, SampleSets::Same);
    EXPECT_TRUE(other.haveOtherBatches);
    EXPECT_TRUE(other.isIncomplete);
    ASSERT_TRUE(other.gradient);
    EXPECT_DOUBLE_EQ(other.gradient->relative, 1 / std::sqrt(29.0));
    EXPECT_DOUBLE_EQ(other.gradient->factor, 31.0 / 29);
    EXPECT_DOUBLE_EQ(other.gradient->factorSpread, 1.5 / (31.0 / 29) - 1);
}

} // namespace
} // namespace driftscope
