// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunDetails.h"

#include "SampleViews.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace driftscope
