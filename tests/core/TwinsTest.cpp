// SPDX-License-Identifier: GPL-3.0-or-later
// Float64 twins beside their runs: which is whose, and their curves.
#include "analysis/Twins.h"

#include "analysis/ViewData.h"
#include "support/HandMadeResults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace driftscope {
namespace {

using test::comparisonOf;
using test::fc1;
using test::resultsOf;
using test::wholeModel;

/// thr 1 (the reference), thr 2, and their twins in that order. Distances are powers of two, so that products are exact.
class TwinsTest : public testing::Test {
protected:
    TwinsTest() {
        m_results.runs[1].comparison = comparisonOf(Metric::RelativeL2, {0, 0x1p-20, 0x1p-19});
        m_results.runs[3].comparison = comparisonOf(Metric::RelativeL2, {0, 0x1p-50, 0x1.8p-49});
    }
    CurveView curves(Metric metric = Metric::RelativeL2, std::vector<std::size_t> runs = {1}) {
        return makeCurves(m_results, {metric, std::move(runs), {wholeModel}, true});
    }

    StudyResults m_results = resultsOf("threads = [1, 2]", "twin = \"float64\"");
};

TEST_F(TwinsTest, WhichIsWhose) {
    ASSERT_EQ(m_results.runs.size(), 4U);
    EXPECT_EQ(twinOf(m_results, 0), 2U);
    EXPECT_EQ(twinOf(m_results, 1), 3U);
    EXPECT_EQ(twinOf(m_results, 3), std::nullopt) << "a twin has none";
    EXPECT_EQ(runOfTwin(m_results, 2), 0U);
    EXPECT_EQ(runOfTwin(m_results, 3), 1U);
    EXPECT_EQ(runOfTwin(m_results, 1), std::nullopt);
    const StudyResults without = resultsOf("threads = [1, 2]");
    EXPECT_EQ(twinOf(without, 1), std::nullopt);
}

TEST_F(TwinsTest, ATwinIsComparedWithTheTwinOfTheReference) {
    EXPECT_EQ(comparedTwinOf(m_results, 1), 3U);
    EXPECT_EQ(comparedTwinOf(m_results, 0), std::nullopt) << "the reference has no curve either";
    m_results.runs[3].reference = 0; // the float32 reference: not the same difference
    EXPECT_EQ(comparedTwinOf(m_results, 1), std::nullopt);
    EXPECT_EQ(curves().curves.size(), 1U);
    m_results.runs[3].reference = 2;
    m_results.runs[3].comparison = comparisonOf(Metric::RelativeL2, {});
    EXPECT_EQ(comparedTwinOf(m_results, 1), std::nullopt) << "no rows";
    m_results.runs[3].comparison.reset();
    EXPECT_EQ(comparedTwinOf(m_results, 1), std::nullopt);
}

TEST_F(TwinsTest, TwinsOfAStudyAreBesideTheirRunsAndFilesAreNot) {
    EXPECT_FALSE(isBesideItsRun(m_results, 3)) << "no folder: the file was asked for";
    m_results.folder.path = "/nowhere/study";
    EXPECT_TRUE(isBesideItsRun(m_results, 3));
    EXPECT_FALSE(isBesideItsRun(m_results, 1));
}

TEST_F(TwinsTest, ACurveIsTheTwinsTimesTwoToThe29) {
    const CurveView view = curves();
    ASSERT_EQ(view.curves.size(), 2U);
    EXPECT_EQ(view.curves[0].name, "thr 2");
    EXPECT_EQ(view.curves[0].values, (std::vector<double>{0, 0x1p-20, 0x1p-19}));
    EXPECT_EQ(view.curves[0].scale, 1);
    const Curve& twin = view.curves[1];
    EXPECT_EQ(twin.name, "thr 2 · float64 twin × 2²⁹");
    EXPECT_TRUE(twin.isTwin);
    EXPECT_EQ(twin.run, 1U) << "the colour of its run";
    EXPECT_EQ(twin.values, (std::vector<double>{0, 0x1p-21, 0x1.8p-20}));
    EXPECT_EQ(twin.scale, 536870912);
    EXPECT_EQ(twin.kinds[0], PointKind::Identical);
    EXPECT_EQ(twin.kinds[1], PointKind::Value);
    EXPECT_EQ(twin.firstDivergence, 10);
    EXPECT_EQ(view.smallest, 0x1p-21) << "the range takes the twins in";
    EXPECT_EQ(view.largest, 0x1p-19);
}

TEST_F(TwinsTest, EachScopeHasItsTwin) {
    const CurveView view = makeCurves(m_results, {Metric::RelativeL2, {1}, {wholeModel, fc1}, true});
    ASSERT_EQ(view.curves.size(), 4U);
    EXPECT_EQ(view.curves[3].name, "thr 2 · float64 twin × 2²⁹, fc1");
    EXPECT_EQ(view.curves[3].values, (std::vector<double>{0, 0x1p-20, 0x1.8p-19}));
}

TEST_F(TwinsTest, OnlyWhereAskedForAndOnce) {
    EXPECT_EQ(makeCurves(m_results, {Metric::RelativeL2, {1}, {wholeModel}}).curves.size(), 1U);
    const CurveView view = curves(Metric::RelativeL2, {0, 1, 2, 3});
    EXPECT_EQ(view.curves.size(), 2U) << "a twin that is chosen itself is not drawn twice";
    EXPECT_EQ(std::ranges::count(view.curves, true, &Curve::isTwin), 1);
}

TEST_F(TwinsTest, OnlyDistancesShrinkWithTheMachineEpsilon) {
    for (const Metric metric : {Metric::L2, Metric::RelativeL2, Metric::MaxAbsolute, Metric::MeanAbsolute,
                                Metric::MaxRelative}) {
        EXPECT_TRUE(hasTwinCurves(m_results, metric));
        EXPECT_EQ(curves(metric).curves.size(), 2U);
    }
    for (const Metric metric : {Metric::CosineDistance, Metric::UlpMax, Metric::Changed, Metric::SignFlips}) {
        EXPECT_FALSE(hasTwinCurves(m_results, metric));
        EXPECT_EQ(curves(metric).curves.size(), 1U);
    }
    EXPECT_FALSE(hasTwinCurves(resultsOf("threads = [1, 2]"), Metric::RelativeL2));
}

TEST_F(TwinsTest, WhatOverflowsIsNotFinite) {
    m_results.runs[3].comparison = comparisonOf(Metric::L2, {0, 1e300, std::numeric_limits<double>::max()});
    const Curve twin = curves(Metric::L2).curves.at(1);
    EXPECT_EQ(twin.values, (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(twin.kinds[1], PointKind::Nonfinite);
}

TEST_F(TwinsTest, TheTableSaysByHowMuchACurveIsScaled) {
    EXPECT_EQ(toCsv(makeCurves(m_results, {Metric::RelativeL2, {1}, {wholeModel}})),
              "curve,step,relative L2 distance to thr 1,kind\n"
              "thr 2,0,0,identical\n"
              "thr 2,10,9.5367431640625e-07,value\n"
              "thr 2,20,1.9073486328125e-06,value\n");
    EXPECT_EQ(toCsv(curves()), "curve,step,relative L2 distance to thr 1,kind,scale\n"
                               "thr 2,0,0,identical,1\n"
                               "thr 2,10,9.5367431640625e-07,value,1\n"
                               "thr 2,20,1.9073486328125e-06,value,1\n"
                               "thr 2 · float64 twin × 2²⁹,0,0,identical,536870912\n"
                               "thr 2 · float64 twin × 2²⁹,10,4.76837158203125e-07,value,536870912\n"
                               "thr 2 · float64 twin × 2²⁹,20,1.430511474609375e-06,value,536870912\n");
}

} // namespace
} // namespace driftscope
