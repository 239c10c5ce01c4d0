// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ScalarCurves.h"

#include "support/HandMadeResults.h"

#include <gtest/gtest.h>

#include <limits>

namespace driftscope {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

StudyResults withLoss(const std::vector<double>& reference, const std::vector<double>& run) {
    StudyResults results = test::resultsOf("threads = [1, 2]");
    const std::vector<double>* losses[] = {&reference, &run};
    for (std::size_t i = 0; i < 2; ++i) {
        results.runs[i].scalars[Loss] = *losses[i];
        for (std::size_t row = 0; row < losses[i]->size(); ++row)
            results.runs[i].steps.push_back(static_cast<std::int64_t>(row));
    }
    return results;
}

TEST(ScalarCurves, ValuesBeginWithTheFirstUpdate) {
    const StudyResults results = withLoss({nan, 2, 0.5}, {nan, 2, nan});
    const CurveView view = makeScalarCurves(results, {.runs = {0, 1}, .isLogarithmic = false});
    ASSERT_EQ(view.curves.size(), 2U);
    EXPECT_TRUE(view.areValues);
    EXPECT_EQ(view.yTitle, "loss");
    EXPECT_EQ(view.curves[0].steps, (std::vector<double>{1, 2}));
    EXPECT_EQ(view.curves[0].values, (std::vector<double>{2, 0.5}));
    EXPECT_EQ(view.curves[1].kinds, (std::vector{PointKind::Value, PointKind::Nonfinite}));
    EXPECT_EQ(view.lowest, 0.5);
    EXPECT_EQ(view.largest, 2);
}

TEST(ScalarCurves, Differences) {
    const StudyResults results = withLoss({nan, 2, 0.5, nan, 1}, {nan, 2, 0.75, 3, nan});
    const CurveView view = makeScalarCurves(results, {.runs = {0, 1}, .areDifferences = true});
    ASSERT_EQ(view.curves.size(), 1U); // the reference is not compared with itself
    const Curve& curve = view.curves[0];
    EXPECT_FALSE(view.areValues);
    EXPECT_TRUE(view.isLogarithmic);
    EXPECT_EQ(curve.steps, (std::vector<double>{1, 2, 3, 4}));
    EXPECT_EQ(curve.kinds, (std::vector{PointKind::Identical, PointKind::Value, PointKind::Nonfinite, PointKind::Nonfinite}));
    EXPECT_EQ(curve.values[1], 0.25);
    EXPECT_EQ(curve.firstDivergence, 2);
    EXPECT_LT(view.floor, 0.25);
    EXPECT_GT(view.floor, 0);
    EXPECT_EQ(view.yTitle, "|difference| of the loss to thr 1");
}

TEST(ScalarCurves, NormsAreRootsOfWhatIsRecorded) {
    StudyResults results = withLoss({nan, 1}, {nan, 1});
    results.runs[0].scalars[GradNormSq] = {nan, 9};
    const CurveView view = makeScalarCurves(results, {.scalar = GradNormSq, .runs = {0, 1}});
    ASSERT_EQ(view.curves.size(), 1U); // run 1 did not record it
    EXPECT_EQ(view.curves[0].values, std::vector<double>{3});
}

TEST(ScalarCurves, ALogarithmicAxisOnlyWhereItHelps) {
    const auto isLogarithmic = [](double first, double last) {
        return makeScalarCurves(withLoss({nan, first, last}, {}), {.runs = {0}}).isLogarithmic;
    };
    EXPECT_TRUE(isLogarithmic(2, 0.1));
    EXPECT_FALSE(isLogarithmic(2, 1.5));
    EXPECT_FALSE(isLogarithmic(2, 0));
    EXPECT_FALSE(isLogarithmic(2, -1));
}

TEST(ScalarCurves, EveryScalarHasItsWords) {
    ASSERT_EQ(scalarInfos().size(), static_cast<std::size_t>(ScalarCount));
    for (const ScalarInfo& info : scalarInfos()) {
        EXPECT_FALSE(info.key.empty());
        EXPECT_TRUE(info.help.ends_with("."));
    }
}

} // namespace
} // namespace driftscope
