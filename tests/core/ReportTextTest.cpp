// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ReportText.h"

#include "support/HandMadeResults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

using test::comparisonOf;
using test::resultsOf;

/// Gives the run a distance at steps 0 and 10; 0: equal bits.
void compare(StudyResults& results, std::size_t run, double distance, const std::string& verdict) {
    const auto comparison = comparisonOf(Metric::RelativeL2, {0, distance});
    if (distance > 0)
        comparison->first = FirstDivergence{10, "gradient", "fc1.weight", 9};
    results.runs[run].comparison = comparison;
    results.runs[run].verdict.kind = verdict;
}

TEST(ReportText, TheSummaryCountsWhatWasCompared) {
    StudyResults results = resultsOf("threads = [1, 2, 3, 4]");
    EXPECT_EQ(summarySentence(results), "Nothing has been compared yet.");
    compare(results, 1, 1e-7, "rounding");
    EXPECT_EQ(summarySentence(results), "1 of 1 run differs from thr 1; by rounding.");
    compare(results, 2, 0, "identical");
    compare(results, 3, 2e-7, "rounding");
    EXPECT_EQ(summarySentence(results), "2 of 3 runs differ from thr 1; all by rounding.");
    results.runs[3].verdict.kind = "inconclusive";
    EXPECT_EQ(summarySentence(results), "2 of 3 runs differ from thr 1; 1 by rounding, 1 inconclusive.");
    compare(results, 1, 0, "identical");
    compare(results, 3, 0, "identical");
    EXPECT_EQ(summarySentence(results), "All 3 runs compared are bit-identical to thr 1.");
}

TEST(ReportText, EqualBitsOfARunThatBrokeOffSayNothing) {
    StudyResults results = resultsOf("threads = [1, 2, 3]");
    compare(results, 1, 0, "");
    results.runs[1].state = RunState::Failed;
    compare(results, 2, 0, "identical");
    EXPECT_EQ(summarySentence(results), "The one run compared is bit-identical to thr 1; 1 run has not finished.");
    compare(results, 1, 1e-7, "rounding"); // other bits do
    EXPECT_EQ(summarySentence(results), "1 of 2 runs differs from thr 1; by rounding; 1 run has not finished.");
}

TEST(ReportText, TheControlIsNamedByItself) {
    StudyResults results = resultsOf("threads = [1, 2]", "control = true");
    ASSERT_EQ(results.runs.size(), 3U);
    compare(results, 1, 1e-7, "rounding");
    compare(results, 2, 0, "identical");
    EXPECT_EQ(summarySentence(results),
              "1 of 1 run differs from thr 1; by rounding; the reference, run again, has the same bits.");
    compare(results, 2, 1e-7, "run-to-run");
    EXPECT_EQ(summarySentence(results), "1 of 1 run differs from thr 1; by rounding; the reference, run again, has other "
                                        "bits, so that not every difference is a setting's.");
}

TEST(ReportText, SeveralReferences) {
    StudyResults results = resultsOf("seed = [1, 2]\nthreads = [1, 2]", "groups = [\"seed\"]");
    compare(results, 1, 1e-7, "rounding");
    compare(results, 3, 1e-7, "rounding");
    EXPECT_EQ(summarySentence(results), "2 of 2 runs differ from the reference of the same seed; all by rounding.");
}

TEST(ReportText, RowsOfTheTable) {
    StudyResults results = resultsOf("threads = [1, 2, 3, 4]", "twin = \"float64\"");
    ASSERT_EQ(results.runs.size(), 8U);
    compare(results, 1, 1e-7, "rounding");
    compare(results, 2, 0, "identical");
    results.runs[3].state = RunState::Unavailable;
    results.runs[3].message = "no such device";
    results.runs[7].state = RunState::Failed; // a twin that has to be heard
    const std::vector<ReportRow> rows = reportRows(results);
    ASSERT_EQ(rows.size(), 5U);
    EXPECT_TRUE(rows[0].isReference);
    EXPECT_EQ(outcomeText(rows[0]), "the reference");
    EXPECT_EQ(distanceText(rows[0], rows[0].relativeL2), "");
    EXPECT_EQ(rows[1].first, "step 10, phase gradient, fc1.weight");
    EXPECT_EQ(distanceText(rows[1], rows[1].relativeL2), "1.00e-07");
    EXPECT_EQ(rows[1].step, 10);
    EXPECT_EQ(outcomeText(rows[1]), "rounding");
    EXPECT_EQ(rows[2].first, "none: bit-identical");
    EXPECT_EQ(distanceText(rows[2], rows[2].relativeL2), "0");
    EXPECT_EQ(outcomeText(rows[3]), "unavailable");
    EXPECT_EQ(rows[3].first, "no such device");
    EXPECT_EQ(rows[3].step, std::nullopt);
    EXPECT_EQ(rows[4].run, 7U);
    EXPECT_EQ(outcomeText(rows[4]), "failed");
}

TEST(ReportText, DigestsAloneDoNotTellHowFar) {
    StudyResults results = resultsOf("threads = [1, 2]");
    compare(results, 1, 1e-7, "inconclusive");
    const auto comparison = std::make_shared<RunComparison>(*results.runs[1].comparison);
    for (auto& values : comparison->values)
        values.assign(values.size(), std::nan(""));
    results.runs[1].comparison = comparison;
    const ReportRow row = reportRows(results).at(1);
    EXPECT_EQ(distanceText(row, row.relativeL2), "not kept");
}

TEST(ReportText, RunsThatAreStillRunningShowWhatIsKnown) {
    StudyResults results = resultsOf("threads = [1, 2]");
    compare(results, 1, 1e-7, "rounding");
    results.runs[1].state = RunState::Running;
    const ReportRow row = reportRows(results).at(1);
    EXPECT_EQ(outcomeText(row), "running, rounding");
    EXPECT_EQ(distanceText(row, row.relativeL2), "1.00e-07");
    results.runs[1].state.reset();
    EXPECT_EQ(reportRows(results).at(1).state, "not run");
}

TEST(ReportText, Growth) {
    Growth growth;
    growth.rate = 0.031;
    growth.low = 0.029;
    growth.high = 0.034;
    growth.doublingSteps = std::log(2) / 0.031;
    EXPECT_EQ(growthText(growth), "0.031 per step (0.029 … 0.034), doubling every 22.4 steps");
    growth.rate = -0.01;
    growth.doublingSteps = std::nan("");
    EXPECT_EQ(growthText(growth), "-0.01 per step (0.029 … 0.034)");
    growth.form = GrowthForm::PowerLaw;
    growth.rate = 0.5;
    EXPECT_EQ(growthText(growth), "as step^0.5 (0.029 … 0.034)");
}

TEST(ReportText, EveryVerdictHasAShapeOfItsOwn) {
    std::vector<std::string_view> symbols;
    for (const char* kind : {"identical", "rounding", "precision", "data", "random", "algorithmic", "run-to-run", "inconclusive"}) {
        EXPECT_NE(verdictSymbol(kind), "") << kind;
        EXPECT_EQ(std::ranges::find(symbols, verdictSymbol(kind)), symbols.end()) << kind;
        symbols.push_back(verdictSymbol(kind));
    }
    EXPECT_EQ(verdictSymbol(""), "");
}

} // namespace
} // namespace driftscope
