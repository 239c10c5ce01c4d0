// SPDX-License-Identifier: GPL-3.0-or-later
// Curves, titles and CSV; heatmaps are in ViewHeatmapTest.cpp.
#include "analysis/ViewData.h"
#include "support/Files.h"
#include "support/HandMadeResults.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace driftscope {
namespace {

using test::comparisonOf;
using test::fc1;
using test::resultsOf;
using test::wholeModel;

constexpr double infinity = std::numeric_limits<double>::infinity();

StudyResults withValues(const std::vector<double>& values, Metric metric = Metric::RelativeL2,
                        const std::vector<std::size_t>& zeroButChanged = {}) {
    StudyResults results = resultsOf("threads = [1, 2]");
    results.runs[1].comparison = comparisonOf(metric, values, zeroButChanged);
    return results;
}

TEST(ViewCurves, KindsOfPoints) {
    const StudyResults results =
        withValues({0, 1e-7, infinity, std::nan(""), 0.5}, Metric::RelativeL2);
    const CurveView view = makeCurves(results, {Metric::RelativeL2, {1}, {wholeModel}});
    ASSERT_EQ(view.curves.size(), 1U);
    const Curve& curve = view.curves[0];
    EXPECT_EQ(curve.steps, (std::vector<double>{0, 10, 20, 30, 40}));
    EXPECT_EQ(curve.kinds,
              (std::vector<PointKind>{PointKind::Identical, PointKind::Value, PointKind::Nonfinite,
                                      PointKind::Nonfinite, PointKind::Value}));
    EXPECT_EQ(curve.values, (std::vector<double>{0, 1e-7, 0, 0, 0.5})); // never NaN, never infinite
    EXPECT_EQ(curve.firstDivergence, 10);
    EXPECT_EQ(curve.run, 1U);
    EXPECT_EQ(view.smallest, 1e-7);
    EXPECT_EQ(view.largest, 0.5);
}

TEST(ViewCurves, AZeroWhoseBitsDifferIsNotIdentical) {
    const CurveView view = makeCurves(withValues({0, 0, 3}, Metric::SignFlips, {1}),
                                      {Metric::SignFlips, {1}, {wholeModel}});
    EXPECT_EQ(view.curves[0].kinds,
              (std::vector<PointKind>{PointKind::Identical, PointKind::Zero, PointKind::Value}));
    EXPECT_EQ(view.curves[0].firstDivergence, 10);
    EXPECT_EQ(view.smallest, 3);
}

TEST(ViewCurves, IdenticalRunsHaveAFloorAndNoRange) {
    const CurveView view = makeCurves(withValues({0, 0}), {Metric::RelativeL2, {1}, {wholeModel}});
    EXPECT_EQ(view.curves[0].firstDivergence, std::nullopt);
    EXPECT_EQ(view.smallest, 0);
    EXPECT_EQ(view.largest, 0);
    EXPECT_GT(view.floor, 0);
    EXPECT_TRUE(std::isfinite(view.floor));
}

TEST(ViewCurves, TheFloorIsAPowerOfTenWithRoomBelowTheSmallestValue) {
    for (const double smallest :
         {1.0, 9.99, 1e-7, 3.2e-7, 0.99e-7, 5e-300, 1e-308, 123456.0, 1e300, 1e-320}) {
        const CurveView view = makeCurves(withValues({smallest, smallest * 4}),
                                          {Metric::RelativeL2, {1}, {wholeModel}});
        EXPECT_LT(view.floor, smallest / 2) << smallest;
        EXPECT_GT(view.floor, smallest / 1e3) << smallest;
        if (smallest > 1e-300) {
            const double exponent = std::log10(view.floor);
            EXPECT_NEAR(exponent, std::round(exponent), 1e-9) << smallest;
        }
    }
}

TEST(ViewCurves, NamesStylesAndTitles) {
    StudyResults results = withValues({1, 2});
    const CurveView one = makeCurves(results, {Metric::RelativeL2, {1}, {wholeModel}});
    EXPECT_EQ(one.curves[0].name, "thr 2");
    EXPECT_EQ(one.title, "by hand");
    EXPECT_EQ(one.xTitle, "step");
    EXPECT_EQ(one.yTitle, "relative L2 distance to thr 1");
    const CurveView two = makeCurves(results, {Metric::RelativeL2, {1}, {wholeModel, fc1}});
    ASSERT_EQ(two.curves.size(), 2U);
    EXPECT_EQ(two.curves[0].name, "thr 2, whole model");
    EXPECT_EQ(two.curves[1].name, "thr 2, fc1");
    EXPECT_EQ(two.curves[1].style, 1U);
    EXPECT_EQ(two.curves[1].scope, fc1);
    EXPECT_EQ(two.curves[1].values, (std::vector<double>{2, 4}));
    EXPECT_EQ(two.largest, 4);
    EXPECT_EQ(makeCurves(results, {Metric::RelativeL2, {1}, {fc1}}).curves[0].name, "thr 2, fc1");
    EXPECT_EQ(quantityTitle(results, Metric::UlpMax), "largest ULP distance to thr 1 (ULP)");
}

// A twin lies beside its run where the difference is rounding: its distances are scaled by 2²⁹, its counts are not.
TEST(ViewCurves, TwinsAreScaled) {
    StudyResults results = test::resultsOf("threads = [1, 2]", "twin = \"float64\"");
    ASSERT_EQ(results.runs.size(), 4U);
    for (const std::size_t twin : {std::size_t{1}, std::size_t{3}})
        results.runs[twin].comparison = test::comparisonOf(Metric::RelativeL2, {0, twin == 1 ? 3e-8 : 5e-17});
    ASSERT_TRUE(results.runs[3].config.isTwin);
    const CurveView view = makeCurves(results, {Metric::RelativeL2, {1, 3}, {test::wholeModel}});
    ASSERT_EQ(view.curves.size(), 2U);
    EXPECT_FALSE(view.curves[0].isTwin);
    EXPECT_EQ(view.curves[0].values[1], 3e-8);
    EXPECT_TRUE(view.curves[1].isTwin);
    EXPECT_EQ(view.curves[1].run, 1U);
    EXPECT_DOUBLE_EQ(view.curves[1].values[1], 5e-17 * 536870912);
    EXPECT_EQ(view.curves[1].kinds[0], PointKind::Identical);
    EXPECT_NE(view.curves[1].name.find("× 2²⁹"), std::string::npos);

    const CurveView shares = makeCurves(results, {Metric::Changed, {3}, {test::wholeModel}});
    EXPECT_EQ(shares.curves[0].values[1], 1);
    EXPECT_EQ(shares.curves[0].name.find("2²⁹"), std::string::npos);
}

TEST(ViewCurves, WhatHasNoCurveIsLeftOut) {
    const StudyResults results = withValues({1, 2});
    const CurveView view = makeCurves(
        results, {Metric::RelativeL2, {0, 1, 2, 99}, {wholeModel, {ScopeKind::Layer, "none"}}});
    EXPECT_EQ(view.curves.size(), 1U);
    EXPECT_TRUE(makeCurves(results, {}).curves.empty());
    EXPECT_TRUE(makeCurves({}, {Metric::L2, {0}, {wholeModel}}).curves.empty());
}

TEST(ViewData, RunTitles) {
    RunResult run;
    run.config.id = "acc2_thr1";
    run.config.settings = {{"accumulation", std::int64_t{2}}, {"threads", std::int64_t{1}}};
    EXPECT_EQ(runTitle(run), "acc 2 · thr 1");
    run.config.id = "/home/me/runs/a.h5";
    EXPECT_EQ(runTitle(run), "acc 2 · thr 1 (a.h5)");
    run.config.settings.clear();
    EXPECT_EQ(runTitle(run), "a.h5");
    run.config.id = "b.h5";
    EXPECT_EQ(runTitle(run), "b.h5");
    EXPECT_EQ(scopeTitle(wholeModel), "whole model");
    EXPECT_EQ(scopeTitle(fc1), "fc1");
    EXPECT_EQ(scopeTitle({ScopeKind::Layer, ""}), "(model's own)");
}

TEST(ViewData, CommonScopesAreThoseOfEveryRun) {
    StudyResults results = resultsOf("threads = [1, 2, 3]");
    EXPECT_TRUE(commonScopes(results).empty());
    results.runs[1].comparison = comparisonOf(Metric::L2, {1});
    EXPECT_EQ(commonScopes(results).size(), 3U);
    const auto other = comparisonOf(Metric::L2, {1});
    other->scopes[1].name = "other";
    results.runs[2].comparison = other;
    EXPECT_EQ(commonScopes(results), (std::vector<Scope>{wholeModel, test::fc1Weight}));
}

TEST(ViewData, ShortNumbers) {
    EXPECT_EQ(shortNumber(0), "0");
    EXPECT_EQ(shortNumber(3.2e-7), "3.20e-07");
    EXPECT_EQ(shortNumber(0.125), "0.125");
    EXPECT_EQ(shortNumber(1234567), "1.23e+06");
    EXPECT_EQ(shortNumber(-42), "-42");
    EXPECT_EQ(shortNumber(std::nan("")), "NaN");
    EXPECT_EQ(shortNumber(infinity), "∞");
    EXPECT_EQ(shortNumber(-infinity), "−∞");
}

TEST(ViewCsv, FieldsAreQuotedAsRfc4180Says) {
    EXPECT_EQ(csvQuoted("plain text"), "plain text");
    EXPECT_EQ(csvQuoted(""), "");
    EXPECT_EQ(csvQuoted("a,b"), "\"a,b\"");
    EXPECT_EQ(csvQuoted("say \"x\""), "\"say \"\"x\"\"\"");
    EXPECT_EQ(csvQuoted("line\nbreak"), "\"line\nbreak\"");
    EXPECT_EQ(csvQuoted("cr\r"), "\"cr\r\"");
    EXPECT_EQ(csvQuoted("\""), "\"\"\"\"");
}

TEST(ViewCsv, CurvesAsCsv) {
    const CurveView view =
        makeCurves(withValues({0, 0.1, infinity}), {Metric::RelativeL2, {1}, {wholeModel, fc1}});
    EXPECT_EQ(toCsv(view), "curve,step,relative L2 distance to thr 1,kind\n"
                           "\"thr 2, whole model\",0,0,identical\n"
                           "\"thr 2, whole model\",10,0.1,value\n"
                           "\"thr 2, whole model\",20,inf,nonfinite\n"
                           "\"thr 2, fc1\",0,0,identical\n"
                           "\"thr 2, fc1\",10,0.2,value\n"
                           "\"thr 2, fc1\",20,inf,nonfinite\n");
}

TEST(ViewCsv, AZeroWhoseBitsDifferIsNoIdenticalPoint) {
    const CurveView view = makeCurves(withValues({0, 0}, Metric::SignFlips, {1}),
                                      {Metric::SignFlips, {1}, {wholeModel}});
    EXPECT_EQ(toCsv(view), "curve,step,sign flips to thr 1 (elements),kind\n"
                           "thr 2,0,0,identical\n"
                           "thr 2,10,0,zero\n");
}

TEST(ViewCsv, NumbersKeepEveryDigit) {
    const double value = 0.1 + 0.2;
    const std::string csv =
        toCsv(makeCurves(withValues({value}), {Metric::RelativeL2, {1}, {wholeModel}}));
    EXPECT_HAS(csv, "0.30000000000000004");
}

} // namespace
} // namespace driftscope
