// SPDX-License-Identifier: GPL-3.0-or-later
// What the search for a cure reads: digests of hand-made run files, and which runs take part.
#include "execution/CureStudy.h"
#include "recording/PrivateFolder.h"
#include "recording/RunDigests.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;

RunDigests digestsOf(const test::TestRun& run, const test::TemporaryFolder& folder) {
    fs::remove(folder / "run.h5");
    test::writeRun(folder / "run.h5", run);
    return driftscope::digestsOf(RunReader(folder / "run.h5"));
}

test::TestRun withGradients() {
    test::TestRun run = test::tinyRun(test::tinyConfig(), 0.5);
    for (test::TestRow& row : run.rows)
        if (row.step > 0)
            row.gradients = {{0.25, 0.5}, {0.75}};
    return run;
}

TEST(RunDigests, EqualWhereWeightsAndGradientsAre) {
    const test::TemporaryFolder folder;
    const RunDigests a = digestsOf(withGradients(), folder);
    EXPECT_EQ(a.steps, (std::vector<std::int64_t>{0, 1, 2}));
    ASSERT_EQ(a.rows.size(), 3U);
    EXPECT_NE(a.rows[0], a.rows[1]);
    test::TestRun again = withGradients();
    again.config.id = "another"; // and another run_id
    again.rows[1].loss = 7;
    EXPECT_EQ(firstDifferentStep(a, digestsOf(again, folder)), std::nullopt);

    test::TestRun weight = withGradients();
    weight.rows[2].weights[1][0] = 5;
    EXPECT_EQ(firstDifferentStep(a, digestsOf(weight, folder)), 2);
    test::TestRun gradient = withGradients();
    gradient.rows[1].gradients[0][1] = -0.5;
    EXPECT_EQ(firstDifferentStep(a, digestsOf(gradient, folder)), 1);
    test::TestRun name = withGradients();
    name.parameters[0].name = "fc2.weight";
    EXPECT_EQ(firstDifferentStep(a, digestsOf(name, folder)), 0);
}

TEST(RunDigests, OnlyCommonStepsAreCompared) {
    const Digest x{1, 2}, y{3, 4};
    EXPECT_EQ(firstDifferentStep({{0, 1, 2, 4}, {x, x, x, x}}, {{0, 2, 4}, {x, x, y}}), 4);
    EXPECT_EQ(firstDifferentStep({{0, 1, 3}, {x, y, x}}, {{0, 2, 3, 9}, {x, x, x, y}}), std::nullopt);
    EXPECT_EQ(firstDifferentStep({}, {{0}, {x}}), std::nullopt);
}

TEST(CureStudy, FinishedRunsWithTheirDifferences) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2, 3, 4, 5]", "control = true");
    for (const auto& [run, difference] :
         std::vector<std::pair<std::size_t, double>>{{0, 0.5}, {1, 0.5}, {2, 0.25}, {5, 0.125}})
        test::writeRun(study.runFile(study.runs[run]), test::tinyRun(study.runs[run], difference));
    test::TestRun broken = test::tinyRun(study.runs[3], 0.5);
    broken.state = RunState::Unavailable;
    broken.message = "threads = 4: not here";
    test::writeRun(study.runFile(study.runs[3]), broken);

    const CureStudy found = readCureStudy(study);
    ASSERT_EQ(found.subjects.size(), 3U); // the control takes no part
    EXPECT_TRUE(found.subjects[0].isReference());
    EXPECT_EQ(found.subjects[1].config.id, "thr2");
    EXPECT_EQ(found.subjects[1].recordedDifference, std::nullopt);
    EXPECT_EQ(found.subjects[2].config.id, "thr3");
    EXPECT_EQ(found.subjects[2].recordedDifference, 1);
    EXPECT_EQ(found.subjects[2].reference, 0U);
    EXPECT_EQ(found.subjects[2].steps, 2);
    ASSERT_EQ(found.leftOut.size(), 2U);
    EXPECT_EQ(found.leftOut[0].id, "thr4");
    EXPECT_EQ(found.leftOut[0].reason, "unavailable: threads = 4: not here");
    EXPECT_EQ(found.leftOut[1].id, "thr5");
    EXPECT_EQ(found.leftOut[1].reason, "not run");
}

TEST(CureStudy, WithoutAReferenceThereIsNothingToCure) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s");
    test::writeRun(study.runFile(study.runs[1]), test::tinyRun(study.runs[1], 0.5));
    EXPECT_HAS(messageOf<StudyError>([&] { readCureStudy(study); }), "has no finished run to compare");
    test::writeFile(study.runFile(study.runs[0]), "no HDF5");
    EXPECT_HAS(messageOf<StudyError>([&] { readCureStudy(study); }), "has no finished run to compare");
}

TEST(CureStudy, LinksAreNotFollowed) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2, 3]");
    for (const std::size_t run : {0U, 1U})
        test::writeRun(study.runFile(study.runs[run]), test::tinyRun(study.runs[run], 0.5));
    fs::create_symlink(study.runFile(study.runs[1]), study.runFile(study.runs[2]));
    const CureStudy found = readCureStudy(study);
    ASSERT_EQ(found.leftOut.size(), 1U);
    EXPECT_HAS(found.leftOut[0].reason, "is a link");
}

TEST(PrivateFolder, IsGoneAfterwardsWithAllItHolds) {
    const test::TemporaryFolder folder;
    fs::path path;
    {
        const PrivateFolder made(folder.path(), "test");
        path = made.path();
        EXPECT_EQ(path.parent_path(), folder.path());
        EXPECT_TRUE(path.filename().string().starts_with(".test-"));
        EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
        test::writeFile(path / "file", "x");
        const PrivateFolder elsewhere(folder / "missing", "test");
        EXPECT_EQ(elsewhere.path().parent_path(), fs::temp_directory_path());
    }
    EXPECT_FALSE(fs::exists(path));
}

} // namespace
} // namespace driftscope
