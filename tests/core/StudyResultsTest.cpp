// SPDX-License-Identifier: GPL-3.0-or-later
// Results while runs come in, another reference, and files opened by themselves.
#include "analysis/StudyResults.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

using test::messageOf;
using test::tinyRun;

double last(const RunResult& run, Metric metric = Metric::L2) {
    const RunComparison& comparison = *run.comparison;
    return comparison.value(metric, comparison.rows() - 1, 0);
}

TEST(LiveResults, FollowsRunsAsTheyComeIn) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    LiveResults live(study);
    EXPECT_FALSE(live.update());
    EXPECT_EQ(live.results().runs[0].state, std::nullopt);

    const auto run = tinyRun(study.runs[1], 0.5);
    RunWriter writer(study.runFile(study.runs[1]), test::schemaOf(run));
    EXPECT_TRUE(live.update());
    EXPECT_EQ(live.results().runs[1].state, RunState::Running);
    EXPECT_EQ(live.results().runs[1].totalRows, 3);
    EXPECT_FALSE(live.update());

    test::writeRun(study.runFile(study.runs[0]), tinyRun(study.runs[0], 0));
    EXPECT_TRUE(live.update());
    EXPECT_FALSE(live.results().runs[1].comparison); // no row yet
    writer.append(test::filled(run, run.rows[0]));
    writer.append(test::filled(run, run.rows[1]));
    writer.finish(RunState::Cancelled, "stopped");
    EXPECT_TRUE(live.update());
    EXPECT_EQ(live.results().runs[1].comparison->rows(), 2U);
    EXPECT_EQ(last(live.results().runs[1]), 0.5);
    EXPECT_EQ(live.results().runs[1].state, RunState::Cancelled);
    EXPECT_EQ(live.results().runs[1].message, "stopped");
    EXPECT_EQ(live.results().runs[1].verdict.kind, "inconclusive");
    EXPECT_FALSE(live.update());
}

TEST(LiveResults, CopiesShareWhatDoesNotChange) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    for (std::size_t i = 0; i < 2; ++i)
        test::writeRun(study.runFile(study.runs[i]),
                       tinyRun(study.runs[i], 0.5 * static_cast<double>(i)));
    const auto run = tinyRun(study.runs[2], 2);
    RunWriter writer(study.runFile(study.runs[2]), test::schemaOf(run));
    const auto append = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i)
            writer.append(test::filled(run, run.rows[i]));
    };
    LiveResults live(study);
    append(0, 1);
    while (!live.results().runs[2].comparison)
        live.update();
    const StudyResults before = live.results();
    append(1, 3);
    writer.finish(RunState::Finished);
    EXPECT_TRUE(live.update());
    EXPECT_EQ(live.results().runs[1].comparison, before.runs[1].comparison);
    EXPECT_EQ(live.results().runs[2].comparison->rows(), 3U);
    EXPECT_EQ(before.runs[2].comparison->rows(), 1U);
}

TEST(LiveResults, SmallTensorsOfARunningRunAreNeverStale) {
    // values of a few bytes lie anywhere in the file; what HDF5 read once it does not read again
    const test::TemporaryFolder folder;
    for (std::size_t padding = 0; padding < 8; ++padding) {
        StudyFolder study = test::tinyStudy(folder / ("s" + std::to_string(padding)));
        study.runs[1].study = std::string(padding, 'x'); // shifts everything behind /config
        auto reference = tinyRun(study.runs[0], 0), run = tinyRun(study.runs[1], 0);
        for (std::size_t i = 0; i < 3; ++i) // other values in every row
            run.rows[i].weights = reference.rows[i].weights = {{1.0 + static_cast<double>(i), 2},
                                                               {5.0 + static_cast<double>(i)}};
        test::writeRun(study.runFile(study.runs[0]), reference);
        LiveResults live(study);
        RunWriter writer(study.runFile(study.runs[1]), test::schemaOf(run));
        for (std::size_t i = 0; i < 3; ++i) {
            writer.append(test::filled(run, run.rows[i]));
            writer.waitUntilWritten();
            EXPECT_TRUE(live.update());
            EXPECT_EQ(live.results().runs[1].comparisonProblem, "");
            EXPECT_EQ(live.results().runs[1].rows, static_cast<std::int64_t>(i) + 1);
            EXPECT_EQ(live.results().runs[1].scalars[Loss].size(), i + 1);
            EXPECT_TRUE(i == 0 || live.results().runs[1].scalars[Loss][i] == 0.5);
            EXPECT_EQ(live.results().runs[1].verdict.kind, "identical");
        }
    }
}

TEST(LiveResults, AnotherReferenceComparesAnew) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    for (std::size_t i = 0; i < 3; ++i)
        test::writeRun(study.runFile(study.runs[i]),
                       tinyRun(study.runs[i], std::array{0.0, 0.5, 2.0}[i]));
    LiveResults live(study);
    live.update(2);
    EXPECT_EQ(last(live.results().runs[1]), 1);
    EXPECT_EQ(last(live.results().runs[2]), 4);
    saveResults(live.results());

    LiveResults again(study); // from study.h5, which knows the old reference only
    again.update();
    for (LiveResults* results : {&live, &again}) {
        results->setReference(1);
        EXPECT_TRUE(results->update());
        EXPECT_EQ(last(results->results().runs[0]), 1);
        EXPECT_EQ(last(results->results().runs[2]), 3);
        EXPECT_FALSE(results->results().runs[1].comparison);
        EXPECT_TRUE(results->results().runs[1].config.isReference);
        EXPECT_FALSE(results->results().runs[0].config.isReference);
        EXPECT_EQ(results->results().runs[0].reference, 1U);
    }
    EXPECT_THROW(live.setReference(3), std::out_of_range);
}

TEST(LiveResults, TwinsFollowTheReference) {
    const test::TemporaryFolder folder;
    const StudyFolder study =
        test::tinyStudy(folder / "s", "threads = [1, 2]", "twin = \"float64\"");
    for (std::size_t i = 0; i < 4; ++i)
        test::writeRun(study.runFile(study.runs[i]),
                       tinyRun(study.runs[i], static_cast<double>(i)));
    LiveResults live(study);
    live.update();
    live.setReference(1);
    live.update();
    EXPECT_EQ(live.results().runs[0].reference, 1U);
    EXPECT_EQ(live.results().runs[2].reference, 3U);
    EXPECT_FALSE(live.results().runs[3].reference);
    EXPECT_EQ(last(live.results().runs[2]), 2); // (3 − 2) · 2 steps
}

TEST(LiveResults, AStoppedUpdateGoesOnLater) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    for (std::size_t i = 0; i < 2; ++i)
        test::writeRun(study.runFile(study.runs[i]),
                       tinyRun(study.runs[i], 0.5 * static_cast<double>(i)));
    LiveResults live(study);
    std::stop_source source;
    source.request_stop();
    live.update(1, source.get_token());
    EXPECT_FALSE(live.results().runs[1].comparison);
    EXPECT_TRUE(live.update());
    EXPECT_EQ(last(live.results().runs[1]), 1);
}

TEST(LiveResults, TwoModelsAreAProblemOfThatRunAlone) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    test::writeRun(study.runFile(study.runs[0]), tinyRun(study.runs[0], 0));
    auto other = tinyRun(study.runs[1], 0.5);
    other.parameters[0].name = "fc9.weight";
    test::writeRun(study.runFile(study.runs[1]), other);
    test::writeRun(study.runFile(study.runs[2]), tinyRun(study.runs[2], 0.5));
    const StudyResults results = loadResults(study);
    EXPECT_FALSE(results.runs[1].comparison);
    EXPECT_HAS(results.runs[1].comparisonProblem, "fc9.weight");
    EXPECT_EQ(last(results.runs[2]), 1);
}

TEST(LiveResults, OneDamagedRunDoesNotHideTheOthers) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    test::writeRun(study.runFile(study.runs[0]), tinyRun(study.runs[0], 0));
    test::writeFile(study.runFile(study.runs[1]), "garbage");
    test::writeRun(study.runFile(study.runs[2]), tinyRun(study.runs[2], 0.5));
    EXPECT_EQ(last(loadResults(study).runs[2]), 1);
}

TEST(LoadRunFiles, TheFirstIsTheReferenceOfTheOthers) {
    const test::TemporaryFolder folder;
    for (const auto& [name, difference] :
         {std::pair("b.h5", 0.0), std::pair("a.h5", 0.5), std::pair("c.h5", 0.0)})
        test::writeRun(folder / name, tinyRun(test::tinyConfig("same-id", 2), difference));
    const StudyResults results =
        loadRunFiles({folder / "b.h5", folder / "a.h5", folder / "c.h5"}, 2);
    ASSERT_EQ(results.runs.size(), 3U);
    EXPECT_TRUE(results.runs[0].config.isReference);
    EXPECT_EQ(results.runs[1].reference, 0U);
    EXPECT_FALSE(results.runs[1].config.isReference);
    EXPECT_EQ(last(results.runs[1]), 1);
    EXPECT_EQ(results.runs[2].verdict.kind, "identical");
    EXPECT_NE(results.runs[1].config.id,
              results.runs[2].config.id); // though both files say "same-id"
    EXPECT_EQ(results.folder.study.name, "b");
}

TEST(LoadRunFiles, WhatCannotBeOpenedIsNamed) {
    const test::TemporaryFolder folder;
    test::writeRun(folder / "a.h5", tinyRun(test::tinyConfig("x", 2), 0));
    EXPECT_HAS(messageOf<RecordingError>([&] {
                   loadRunFiles({folder / "a.h5", folder / "none.h5"});
               }),
               "none.h5: no such file");
    EXPECT_TRUE(loadRunFiles({}).runs.empty());
    EXPECT_EQ(loadRunFiles({folder / "a.h5"}).runs.size(), 1U);
}

} // namespace
} // namespace driftscope
