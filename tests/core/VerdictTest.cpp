// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Judge.h"
#include "analysis/StudyResults.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

/// Reference and one run with these values of rel_l2 and ulp_max of the model, a row each.
StudyResults twoRuns(const std::vector<double>& relative, const std::vector<double>& ulps,
                     const std::optional<FirstDivergence>& first = {}) {
    StudyResults results;
    results.runs.resize(2);
    for (RunResult& run : results.runs)
        run.config = test::tinyConfig();
    RunComparison comparison;
    comparison.scopes = {{ScopeKind::Model, ""}};
    for (auto& values : comparison.values)
        values.resize(relative.size());
    for (std::size_t i = 0; i < relative.size(); ++i) {
        comparison.steps.push_back(static_cast<std::int64_t>(10 * i));
        comparison.values[static_cast<std::size_t>(Metric::RelativeL2)][i] = relative[i];
        comparison.values[static_cast<std::size_t>(Metric::UlpMax)][i] = ulps[i];
        comparison.values[static_cast<std::size_t>(Metric::Changed)][i] = ulps[i] > 0 ? 0.5 : 0;
    }
    comparison.ulpHistograms.resize(relative.size());
    comparison.first = first;
    results.runs[1].reference = 0;
    results.runs[1].comparison = std::make_shared<const RunComparison>(std::move(comparison));
    return results;
}

TEST(Verdict, NothingToJudge) {
    const StudyResults results = twoRuns({}, {});
    EXPECT_EQ(judgeRun(results, 0).kind, "");
    EXPECT_EQ(judgeRun(results, 1).kind, "");
    EXPECT_TRUE(judgeRun(results, 1).evidence.empty());
}

TEST(Verdict, EqualBitsAtEveryRowAreIdentical) {
    const Verdict verdict = judgeRun(twoRuns({0, 0, 0}, {0, 0, 0}), 1);
    EXPECT_EQ(verdict.kind, "identical");
    ASSERT_EQ(verdict.evidence.size(), 1U);
    EXPECT_HAS(verdict.evidence[0].text, "3 common recorded steps, 0 to 20");
}

TEST(Verdict, DifferencesAreInconclusiveWithWhatIsKnown) {
    StudyResults results =
        twoRuns({0, 1.5e-7, 0.25}, {0, 3, 4096}, FirstDivergence{10, "gradient", "fc1.weight", 0});
    results.runs[1].config.train.threads = 2;
    results.runs[1].config.train.accumulation = 2;
    const Verdict verdict = judgeRun(results, 1);
    EXPECT_EQ(verdict.kind, "inconclusive");
    ASSERT_GE(verdict.evidence.size(), 3U);
    EXPECT_HAS(verdict.evidence[0].text, "step 10 (1 to 9 are not recorded), phase gradient, fc1.weight");
    EXPECT_HAS(verdict.evidence[1].text, "2.50e-01");
    EXPECT_HAS(verdict.evidence[1].text, "4096 at step 20");
    EXPECT_HAS(verdict.evidence[2].text, "accumulation (1 → 2)");
    EXPECT_HAS(verdict.evidence[2].text, "threads (unset → 2)");
}

TEST(Verdict, TheSameSettingsWithOtherBitsAreSaidToBe) {
    StudyResults results = twoRuns({0, 1e-7}, {0, 1}, FirstDivergence{10, "weights", "w"});
    EXPECT_HAS(judgeRun(results, 1).evidence.at(2).text, "no setting differs");
}

// A difference that went away again, or that only gradients had, is one all the same.
TEST(Verdict, EqualWeightsAtTheEndAreNotEnough) {
    StudyResults results = twoRuns({0, 0}, {0, 0}, FirstDivergence{10, "batch", ""});
    EXPECT_NE(judgeRun(results, 1).kind, "identical");
}

TEST(Verdict, FirstDivergenceAsText) {
    EXPECT_EQ(toText(FirstDivergence{3, "gradient", "a.b", 2}), "step 3, phase gradient, a.b");
    EXPECT_EQ(toText(FirstDivergence{3, "batch", "", 2}), "step 3, phase batch");
    EXPECT_EQ(toText(FirstDivergence{0, "init", "w"}), "step 0, phase init, w");
    EXPECT_EQ(toText(FirstDivergence{3, "batch", "", 1}), "step 3 (2 is not recorded), phase batch");
    EXPECT_EQ(toText(FirstDivergence{4, "batch", "", 0}), "step 4 (1 to 3 are not recorded), phase batch");
    // a foreign file without its beginning
    EXPECT_EQ(toText(FirstDivergence{2, "weights", "w"}), "step 2 (0 to 1 are not recorded), phase weights, w");
}

} // namespace
} // namespace driftscope
