// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Distribution.h"

#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace driftscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Histogram, ByHand) {
    Histogram histogram = emptyHistogram(0, 4, 4);
    add(histogram, std::vector<double>{0, 0.5, 1, 3.999, 4, -0.001, 4.001, nan, infinity});
    EXPECT_EQ(histogram.counts, (std::vector<std::uint64_t>{2, 1, 0, 2}));
    EXPECT_EQ(histogram.edge(0), 0);
    EXPECT_EQ(histogram.edge(3), 3);
    EXPECT_EQ(histogram.edge(4), 4);
}

TEST(Histogram, OfOneValueHasOneBin) {
    Histogram histogram = emptyHistogram(2, 2, 100);
    add(histogram, std::vector<double>{2, 2, 3});
    EXPECT_EQ(histogram.counts, std::vector<std::uint64_t>{2});
    EXPECT_THROW(emptyHistogram(nan, 1, 3), std::invalid_argument);
    EXPECT_THROW(emptyHistogram(2, 1, 3), std::invalid_argument);
}

TEST(Moments, ByHandAndInParts) {
    Moments moments;
    moments.add(std::vector<double>{2, 4, nan, 4});
    moments.add(std::vector<double>{4, 5, 5, -infinity, 7, 9});
    EXPECT_EQ(moments.count, 8U);
    EXPECT_EQ(moments.nonfinite, 2U);
    EXPECT_DOUBLE_EQ(moments.mean, 5);
    EXPECT_DOUBLE_EQ(moments.deviation(), 2);
    EXPECT_EQ(moments.smallest, 2);
    EXPECT_EQ(moments.largest, 9);
    EXPECT_TRUE(std::isnan(Moments().deviation()));
}

/// Run 1's fc1.weight is (1 + step, 2), run 0's (1, 2); out.bias is 4 in both.
StudyResults recorded(const test::TemporaryFolder& folder) {
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]");
    test::writeRun(study.runFile(study.runs[0]), test::tinyRun(study.runs[0], 0));
    test::writeRun(study.runFile(study.runs[1]), test::tinyRun(study.runs[1], 1));
    return loadResults(study);
}

TEST(Distribution, OfAModelAtAStep) {
    const test::TemporaryFolder folder;
    const StudyResults results = recorded(folder);
    const Distribution found = makeDistribution(results, 1, Scope{}, 2, 3);
    EXPECT_EQ(found.step, 2);
    EXPECT_EQ(found.run.low, 1); // the reference's 1 and 2 and 4, the run's 3 and 2 and 4
    EXPECT_EQ(found.run.high, 4);
    EXPECT_EQ(found.run.counts, (std::vector<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(found.reference.counts, (std::vector<std::uint64_t>{1, 1, 1}));
    EXPECT_EQ(found.identical, 2U);
    EXPECT_EQ(found.difference.low, -2);
    EXPECT_EQ(found.difference.high, 2);
    EXPECT_EQ(found.difference.counts, (std::vector<std::uint64_t>{0, 0, 1}));
    EXPECT_DOUBLE_EQ(found.ofDifference.mean, 2);
    EXPECT_EQ(toCsv(found), "quantity,low,high,count\n"
                            "run,1,2,0\nrun,2,3,1\nrun,3,4,2\n"
                            "reference,1,2,1\nreference,2,3,1\nreference,3,4,1\n"
                            "difference,0,0,2\n"
                            "difference,-2,-0.6666666666666667,0\ndifference,-0.6666666666666667,0.6666666666666665,0\n"
                            "difference,0.6666666666666665,2,1\n");
}

TEST(Distribution, TheLastStepUpToTheOneAskedFor) {
    const test::TemporaryFolder folder;
    const StudyResults results = recorded(folder);
    EXPECT_EQ(makeDistribution(results, 1, Scope{}, 1000).step, 2);
    const Distribution layer = makeDistribution(results, 1, {ScopeKind::Layer, "out"}, 1);
    EXPECT_EQ(layer.step, 1);
    EXPECT_EQ(layer.identical, 1U);
    EXPECT_TRUE(layer.difference.counts.empty());
    EXPECT_EQ(layer.run.counts, std::vector<std::uint64_t>{1});
    EXPECT_THROW(makeDistribution(results, 1, {ScopeKind::Layer, "none"}, 1), RecordingError);
    EXPECT_THROW(makeDistribution(results, 1, Scope{}, -1), RecordingError);
}

TEST(Distribution, TheReferenceIsAlone) {
    const test::TemporaryFolder folder;
    const StudyResults results = recorded(folder);
    const Distribution found = makeDistribution(results, 0, Scope{}, 2);
    EXPECT_EQ(found.referenceName, "");
    EXPECT_EQ(found.ofRun.count, 3U);
    EXPECT_EQ(found.ofReference.count, 0U);
}

} // namespace
} // namespace driftscope
