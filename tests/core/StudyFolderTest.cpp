// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/StudyFolder.h"
#include "recording/RunFile.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using test::messageOf;

Study study(const std::string& axes, const std::string& keys = "") {
    return parseStudy(
        "[study]\n" + keys +
            "\n[data]\nkind=\"synthetic\"\nshape=[1,4,4]\n[train]\nsteps=1\n[axes]\n" + axes,
        "/s.toml");
}

TEST(StudyFolder, CreatesWhatOpensAgain) {
    const test::TemporaryFolder folder;
    const StudyFolder created = createStudyFolder(folder / "a/b", study("threads = [1, 2]"));
    EXPECT_TRUE(fs::is_directory(folder / "a/b/runs"));
    EXPECT_FALSE(fs::exists(folder / "a/b/study.toml.new"));
    const StudyFolder opened = openStudyFolder(folder / "a/b");
    ASSERT_EQ(opened.runs.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(toJson(opened.runs[i]), toJson(created.runs[i]));
    EXPECT_EQ(opened.study.name, "s");
    EXPECT_EQ(opened.runFile(opened.runs[1]), folder / "a/b/runs/thr2.h5");
    EXPECT_EQ(opened.logFile(opened.runs[1]), folder / "a/b/runs/thr2.log");
    EXPECT_EQ(opened.resultsFile(), folder / "a/b/study.h5");
}

TEST(StudyFolder, NeverTouchesWhatIsThere) {
    const test::TemporaryFolder folder;
    fs::create_directory(folder / "empty");
    EXPECT_NO_THROW(createStudyFolder(folder / "empty", study("")));
    const std::string before = test::readFile(folder / "empty/study.toml");
    EXPECT_HAS(messageOf<RecordingError>(
                   [&] { createStudyFolder(folder / "empty", study("seed = [1, 2]")); }),
               (folder / "empty").string() + ": exists already");
    EXPECT_EQ(test::readFile(folder / "empty/study.toml"), before);
    test::writeFile(folder / "file", "x");
    EXPECT_HAS(messageOf<RecordingError>([&] { createStudyFolder(folder / "file", study("")); }),
               "exists already");
    EXPECT_HAS(
        messageOf<RecordingError>([&] { createStudyFolder(folder / "file/sub", study("")); }),
        "cannot be created");
    EXPECT_EQ(test::readFile(folder / "file"), "x");
}

TEST(StudyFolder, AnImpossibleStudyCreatesNothing) {
    const test::TemporaryFolder folder;
    Study impossible = study("");
    impossible.base.train.accumulation = 1000;
    EXPECT_THROW(createStudyFolder(folder / "x", impossible), StudyError);
    EXPECT_FALSE(fs::exists(folder / "x"));
}

TEST(StudyFolder, WhatIsNoStudyIsNamed) {
    const test::TemporaryFolder folder;
    EXPECT_HAS(messageOf<RecordingError>([&] { openStudyFolder(folder / "none"); }),
               "none: no such study folder");
    EXPECT_HAS(messageOf<RecordingError>([&] { openStudyFolder(folder.path()); }),
               "it has no study.toml");
    test::writeFile(folder / "study.toml", "[train]\nbatch = 0\n");
    EXPECT_HAS(messageOf<StudyError>([&] { openStudyFolder(folder.path()); }),
               "study.toml:2:9: batch = 0");
}

TEST(StudyFolder, RunsAreComparedWithTheReferenceAndTwinsWithItsTwin) {
    const StudyFolder folder{
        "/x",
        {},
        expand(study("threads = [1, 2]", "twin = \"float64\"\nreference = { threads = 2 }"))};
    ASSERT_EQ(folder.runs.size(), 4U); // thr 1, thr 2, and their twins
    EXPECT_EQ(folder.referenceOf(0), 1U);
    EXPECT_EQ(folder.referenceOf(1), std::nullopt);
    EXPECT_EQ(folder.referenceOf(2), 3U);
    EXPECT_EQ(folder.referenceOf(3), std::nullopt);
    // a float64 reference has no twin: the others' twins are compared with itself
    const StudyFolder mixed{
        "/x", {}, expand(study("dtype = [\"float64\", \"float32\"]", "twin = \"float64\""))};
    ASSERT_EQ(mixed.runs.size(), 3U);
    EXPECT_EQ(mixed.referenceOf(1), 0U);
    EXPECT_EQ(mixed.referenceOf(2), 0U);
}

} // namespace
} // namespace driftscope
