// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunDetails.h"

#include "SampleViews.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace driftscope {
namespace {

TEST(RunDetails, TellsWhatIsKnownOfARun) {
    const auto results = test::sampleResults();
    results->runs[2].environment = R"({"cpu": {"model": "Some CPU"}, "threads": {"intra_op": 2}})";
    RunDetails details;
    details.showRun(results.get(), 2);
    const QString text = details.toPlainText();
    for (const char* expected : {"acc 2 · thr 1", "finished", "step 1, gradient of fc1.weight",
                                 "6.00e-07", "Some CPU · 2 threads"})
        EXPECT_TRUE(text.contains(QString::fromUtf8(expected)))
            << expected << " in " << text.toStdString();
}

TEST(RunDetails, TellsWhichStepsBeforeTheFirstDivergenceAreNotRecorded) {
    const auto results = test::sampleResults();
    RunComparison comparison = *results->runs[2].comparison;
    comparison.first = FirstDivergence{8, "weights", "fc1.weight", 4};
    results->runs[2].comparison = std::make_shared<const RunComparison>(std::move(comparison));
    RunDetails details;
    details.showRun(results.get(), 2);
    EXPECT_TRUE(details.toPlainText().contains(
        QStringLiteral("step 8 (not recorded: 5 to 7), weights of fc1.weight")))
        << details.toPlainText().toStdString();
}

TEST(RunDetails, TellsWhyARunFailed) {
    const auto results = test::sampleResults();
    results->runs[3].message = "<b>out of memory</b>";
    RunDetails details;
    details.showRun(results.get(), 3);
    EXPECT_TRUE(details.toPlainText().contains(QStringLiteral("<b>out of memory</b>")))
        << "escaped";
}

TEST(RunDetails, SaysWhatToDoWithoutARun) {
    RunDetails details;
    details.showRun(nullptr, std::nullopt);
    EXPECT_TRUE(details.toPlainText().startsWith(QStringLiteral("Select a run")));
    details.showRun(test::sampleResults().get(), std::nullopt);
    EXPECT_TRUE(details.toPlainText().startsWith(QStringLiteral("sample")));
}

TEST(RunDetails, BeginsWithTheVerdictAndGivesItsEvidenceAsATable) {
    const auto results = test::sampleResults();
    results->runs[2].verdict = test::sampleVerdict();
    RunDetails details;
    details.showRun(results.get(), 2);
    const QString text = details.toPlainText();
    qsizetype at = 0;
    for (const char* expected :
         {"acc 2 · thr 1", "≈ rounding", "The sums are added in <another> order. Use the canonical",
          "What", "Value", "Threshold", "Says", "twins: in float64 the difference shrinks",
          "1.86e-09", "9.54e-07", "≈ rounding", "samples: every update saw the same samples",
          "First divergence", "6.00e-07", "Settings", "accumulation 2 · threads 1"}) {
        const qsizetype next = text.indexOf(QString::fromUtf8(expected), at);
        EXPECT_GE(next, at) << expected << " is not where it belongs in " << text.toStdString();
        at = std::max(at, next);
    }
    EXPECT_FALSE(text.contains(QStringLiteral("NaN"))) << "no number is no text";
}

TEST(RunDetails, ColorsTheVerdictAsTheTheme) {
    const auto results = test::sampleResults();
    results->runs[2].verdict = test::sampleVerdict();
    RunDetails details;
    for (const Theme& theme : {Theme::dark(), Theme::light()}) {
        details.setTheme(theme);
        details.showRun(results.get(), 2);
        EXPECT_TRUE(details.toHtml().contains(theme.verdictColor("rounding").name()));
    }
}

TEST(RunDetails, SaysWhatATwinIsForAndThatSettingsOfForeignFilesAreNotKnown) {
    const auto results = test::sampleResultsWithTwins();
    RunDetails details;
    details.showRun(results.get(), 6);
    EXPECT_TRUE(details.toPlainText().contains(QStringLiteral("the same run in float64")));
    results->runs[2].isConfigured = false;
    details.showRun(results.get(), 2);
    EXPECT_TRUE(details.toPlainText().contains(QStringLiteral("another program wrote the file")));
}

} // namespace
} // namespace driftscope
