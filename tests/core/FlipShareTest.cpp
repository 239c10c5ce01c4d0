// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/FlipShare.h"

#include "support/HandMadeTrace.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace driftscope {
namespace {

test::HandMadeTrace traceOf(const test::TemporaryFolder& folder, const char* name) {
    test::HandMadeTrace trace(folder / name);
    trace.trace.reluModules = {"fc1"};
    trace.trace.sampleIds = {10, 11, 12};
    return trace;
}

// The second run has its samples in another order and in two micro-batches.
TEST(FlipShare, CountsSignsSampleBySample) {
    const test::TemporaryFolder folder;
    test::HandMadeTrace a = traceOf(folder, "a"), b = traceOf(folder, "b");
    a.addSamples(Phase::Forward, "fc1", 0, 3, {1, -1, 2, -2, 3, 0});
    b.trace.sampleIds = {12, 10, 11};
    b.addSamples(Phase::Forward, "fc1", 0, 2, {3, 1e-9F, 1, -1}); // 0 is off, 1e-9 is on
    b.addSamples(Phase::Forward, "fc1", 2, 1, {2.5, -2});
    const FlipShare flips = countFlips(a.finished(), b.finished());
    ASSERT_EQ(flips.modules.size(), 1U);
    EXPECT_EQ(flips.modules[0].units, 6U);
    EXPECT_EQ(flips.modules[0].flipped, 1U);
    EXPECT_EQ(flips.flipped(), 1U);
    EXPECT_EQ(flips.comparedSamples, 3);
    EXPECT_EQ(flips.samples, std::vector<std::int64_t>{12});
    EXPECT_TRUE(std::isnan(flips.ofGradient));
}

TEST(FlipShare, ShareOfTheGradientsDifference) {
    const test::TemporaryFolder folder;
    test::HandMadeTrace a = traceOf(folder, "a"), b = traceOf(folder, "b"), onlyA = traceOf(folder, "oa"),
                        onlyB = traceOf(folder, "ob");
    // Δ = (2, 1), (1); the flipped samples' part (2, 0), (0): (2 · 2) / (4 + 1 + 1)
    a.add(Phase::Gradient, "fc1.weight", {1, 1});
    a.add(Phase::Gradient, "fc1.bias", {5});
    b.add(Phase::Gradient, "fc1.weight", {3, 2});
    b.add(Phase::Gradient, "fc1.bias", {6});
    onlyA.add(Phase::Gradient, "fc1.weight", {0.5, 0});
    onlyA.add(Phase::Gradient, "fc1.bias", {1});
    onlyB.add(Phase::Gradient, "fc1.weight", {2.5, 0});
    onlyB.add(Phase::Gradient, "fc1.bias", {1});
    const TraceReader readA = a.finished(), readB = b.finished(), readOnlyA = onlyA.finished(),
                      readOnlyB = onlyB.finished();
    EXPECT_DOUBLE_EQ(shareOfGradient(readA, readB, readOnlyA, readOnlyB), 4.0 / 6);
    EXPECT_TRUE(std::isnan(shareOfGradient(readA, readA, readOnlyA, readOnlyB))); // no difference
}

} // namespace
} // namespace driftscope
