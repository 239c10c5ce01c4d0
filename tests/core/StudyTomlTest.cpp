// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/Study.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

using test::messageOf;

constexpr const char* source = "/somewhere/my-study.toml";

/// What is wrong with a study of three steps of synthetic data and these lines, which start on
/// line 7.
std::string problem(const std::string& lines) {
    return messageOf<StudyError>([&] {
        parseStudy("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 3\n\n" +
                       lines,
                   source);
    });
}

std::string at(int line, int column, const std::string& what) {
    return std::string(source) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
           what;
}

TEST(StudyToml, SyntaxErrorsHaveTheirPlace) {
    EXPECT_HAS(problem("batch = "), at(7, 9, ""));
    EXPECT_HAS(problem("batch = 3\nbatch = 4"), std::string(source) + ":8:");
    EXPECT_HAS(problem("[train]"), std::string(source) + ":7:");
    EXPECT_HAS(problem("x = \"\xff\xfe\""), std::string(source) + ":7:");
    EXPECT_HAS(problem(std::string("x = \"a\0b\"", 9)), std::string(source) + ":7:");
    EXPECT_HAS(problem("batch = 99999999999999999999"), std::string(source) + ":7:");
    EXPECT_HAS(problem("batch = " + std::string(2000, '[')), std::string(source) + ":7:");
}

TEST(StudyToml, UnknownSectionsAndKeys) {
    EXPECT_EQ(problem("[axis]\nthreads = [1]"),
              at(7, 2,
                 "unknown section [axis], did you mean \"axes\"?; sections: study, model, data, "
                 "train, axes, record, full"));
    EXPECT_HAS(problem("[optimizer]"), at(7, 2, "unknown section [optimizer]; sections: "));
    EXPECT_HAS(messageOf<StudyError>([] { parseStudy("train = 3", source); }),
               at(1, 9, "train must be a section: [train]"));
    EXPECT_HAS(problem("batchh = 3"),
               at(7, 1, "unknown key \"batchh\" in [train], did you mean \"batch\"?; keys: "));
    EXPECT_HAS(problem("[study]\nnmae = \"x\""),
               at(8, 1,
                  "unknown key \"nmae\" in [study], did you mean \"name\"?; keys: name, "
                  "description, reference, groups, "
                           "twin"));
    EXPECT_HAS(problem("[record]\n  evry = 2"),
               at(8, 3, "unknown key \"evry\" in [record], did you mean \"every\"?"));
    EXPECT_HAS(problem("[axes]\nacumulation = [1]"),
               at(8, 1, "unknown axis \"acumulation\", did you mean \"accumulation\"?; axes: "));
    EXPECT_HAS(problem("[axes]\ndata.limt = [1]"), at(8, 6, "unknown axis \"data.limt\""));
    EXPECT_HAS(problem("[axes]\nevery = [1, 2]"), at(8, 1, "every cannot be an axis"));
}

TEST(StudyToml, WrongTypes) {
    EXPECT_HAS(problem("batch = 1.5"), at(7, 9, "batch = 1.5: wrong type; Samples per update"));
    EXPECT_HAS(problem("batch = \"16\""), at(7, 9, "batch = '16': wrong type"));
    EXPECT_HAS(problem("batch = true"), at(7, 9, "batch = true: wrong type"));
    EXPECT_HAS(problem("batch = [16]"), at(7, 9, "batch = [ 16 ]: wrong type"));
    EXPECT_HAS(problem("learning_rate = \"fast\""), at(7, 17, "learning_rate = "));
    EXPECT_HAS(problem("optimizer = 1"), at(7, 13, "optimizer = 1: wrong type"));
    EXPECT_HAS(problem("betas = 0.5"), at(7, 9, "betas = 0.5: wrong type"));
    EXPECT_HAS(problem("betas = [0.9, \"x\"]"), at(7, 9, "betas = "));
    EXPECT_HAS(problem("seed = 1979-05-27"), at(7, 8, "seed = 1979-05-27: wrong type"));
    EXPECT_HAS(problem("[axes]\nthreads = [1, \"two\"]"), at(8, 15, "threads = 'two': wrong type"));
    EXPECT_HAS(problem("[axes]\nthreads = [[1]]"), at(8, 12, "threads = "));
    EXPECT_HAS(problem("[study]\nname = 3"), at(8, 8, "name: expected text"));
    EXPECT_HAS(problem("[study]\nreference = 1"), at(8, 13, "reference: expected a table"));
    // an integer is a number
    EXPECT_EQ(problem("learning_rate = 1"), "no error");
    EXPECT_EQ(problem("betas = [0, 0.5]"), "no error");
}

TEST(StudyToml, ValuesOutOfRange) {
    EXPECT_EQ(problem("batch = 0"), at(7, 9, "batch = 0: allowed is 1 … 10000000"));
    EXPECT_EQ(problem("batch = -1"), at(7, 9, "batch = -1: allowed is 1 … 10000000"));
    EXPECT_EQ(problem("threads = 1025"), at(7, 11, "threads = 1025: allowed is 1 … 1024"));
    EXPECT_EQ(problem("learning_rate = -0.1"), at(7, 17, "learning_rate = -0.1: allowed is ≥ 0"));
    for (const char* number : {"nan", "-nan", "inf", "-inf", "+inf"})
        EXPECT_HAS(problem(std::string("learning_rate = ") + number),
                   at(7, 17, "learning_rate = "));
    EXPECT_HAS(problem("betas = [0.9, nan]"), at(7, 9, "betas = nan: allowed is a finite number, 0 … 1"));
    EXPECT_HAS(
        problem("optimizer = \"adm\""),
        at(7, 13,
           "optimizer = \"adm\" is not known, did you mean \"adam\"?; allowed: sgd, adam, adamw"));
    EXPECT_HAS(problem("[axes]\noptimizer = [\"sgd\", \"adamx\"]"),
               at(8, 21, "optimizer = \"adamx\" is not known, did you mean \"adam"));
    EXPECT_HAS(
        problem("[study]\ntwin = \"float46\""),
        at(8, 8,
           "twin = \"float46\" is not known, did you mean \"float64\"?; allowed: none, float64"));
    EXPECT_HAS(problem("[study]\nname = \"\""), at(8, 8, "name must not be empty"));
}

TEST(StudyToml, ImpossibleCombinationsHaveAPlaceToo) {
    EXPECT_HAS(problem("batch = 8\n[axes]\naccumulation = [1, 9]"),
               "accumulation = 9 is more than batch = 8");
    EXPECT_HAS(problem("batch = 8\n[axes]\naccumulation = [1, 9]"), std::string(source) + ":8:");
    EXPECT_HAS(problem("epochs = 2.0"), "[train] has both steps and epochs");
    EXPECT_HAS(messageOf<StudyError>([] { parseStudy("", source); }), std::string(source) + ":");
}

TEST(StudyToml, Axes) {
    EXPECT_EQ(problem("[axes]\nthreads = []"), at(8, 11, "axis threads has no values"));
    EXPECT_EQ(problem("[axes]\nbetas = []"), at(8, 9, "axis betas has no values"));
    EXPECT_HAS(
        problem("[axes]\nthreads = [1, 2, 1]"),
        at(8, 11, "threads names 1 twice; to run the same settings again use the axis repeat"));
    EXPECT_HAS(problem("[axes]\nlearning_rate = [1, 1.0]"), "learning_rate names 1 twice");
    EXPECT_HAS(problem("[axes]\nbetas = [[0.9, 0.99], [0.9, 0.99]]"), "twice");
    const Study study = parseStudy(
        "[data]\nkind=\"synthetic\"\nshape=[1,4,4]\n[train]\nsteps=1\noptimizer=\"adam\"\n[axes]\n"
        "betas = [[0.9, 0.999], [0.8, 0.99]]\ndata.limit = [3]\n\"data.seed\" = [1, 2]\nthreads = "
        "4\n",
        source);
    ASSERT_EQ(study.axes.size(), 3U); // threads = 4 is no axis, [3] is
    EXPECT_EQ(study.axes[0].key, "betas");
    EXPECT_EQ(study.axes[0].values[1], SettingValue(std::vector<double>{0.8, 0.99}));
    EXPECT_EQ(study.axes[1].key, "limit");
    EXPECT_EQ(study.axes[2].key, "data.seed");
    EXPECT_EQ(study.base.train.threads, 4);
    EXPECT_EQ(expand(study).size(), 4U);
}

TEST(StudyToml, OneSettingIsOneAxis) {
    EXPECT_NE(problem("[axes]\naccumulation = [1]\n\"train.accumulation\" = [2]"), "no error");
    EXPECT_NE(problem("[axes]\naccumulation = [1, 2]\n\"train.accumulation\" = [2, 4]"),
              "no error");
}

TEST(StudyToml, HugeStudiesAreRefusedBeforeMemoryRunsOut) {
    EXPECT_HAS(problem("[axes]\nrepeat = 9007199254740992"), std::string(source) + ":8:");
}

TEST(StudyToml, References) {
    EXPECT_HAS(problem("[axes]\nthreads = [1, 2]\n[study]\nreference = { threads = 3 }"),
               at(10, 25, "reference threads = 3 is not one of the axis's values"));
    EXPECT_HAS(problem("[axes]\nthreads = [1, 2]\n[study]\nreference = { thread = 1 }"),
               at(10, 15,
                  "reference names \"thread\", which is no axis of this study, did you mean "
                  "\"threads\"?; axes: threads"));
    EXPECT_HAS(problem("[axes]\nthreads = [1, 2]\n[study]\nreference = { threads = \"a\" }"),
               at(10, 25, "threads = 'a': wrong type"));
    EXPECT_HAS(problem("[study]\nreference = { batch = 16 }"), "which is no axis of this study");
    EXPECT_EQ(problem("[axes]\nthreads = [1, 2]\n[study]\nreference = { threads = 2 }"),
              "no error");
    EXPECT_EQ(problem("[axes]\n\"data.seed\" = [1, 2]\n[study]\nreference = { \"data.seed\" = 2 }"),
              "no error");
}

TEST(StudyToml, RelativePathsAreOfTheStudysFolder) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "data");
    const auto path = [&](const std::string& text) {
        return parseStudy("[data]\nkind = \"idx\"\npath = \"" + text + "\"\n[train]\nsteps = 1\n",
                          folder / "s.toml")
            .base.data.path;
    };
    EXPECT_EQ(path("data"), (std::filesystem::canonical(folder.path()) / "data").string());
    EXPECT_EQ(path("../x"),
              (std::filesystem::canonical(folder.path()).parent_path() / "x").string());
    EXPECT_EQ(path("/abs/olute"), "/abs/olute");
}

TEST(StudyToml, RelativePathsOfAnAxisToo) {
    const Study study = parseStudy(
        "[data]\nkind = \"idx\"\n[train]\nsteps = 1\n[axes]\npath = [\"a\", \"/b\"]\n", source);
    EXPECT_EQ(expand(study)[0].data.path, "/somewhere/a");
    EXPECT_EQ(expand(study)[1].data.path, "/b");
}

TEST(StudyToml, EveryFileIsOfTheStudysFolder) {
    const Study study = parseStudy(R"(
[model]
kind = "torchscript"
path = "m.pt"
[data]
kind = "npy"
path = "x.npy"
targets = "y.npy"
[train]
steps = 1
[study]
reference = { blas = "lib/libblas.so" }
[axes]
blas = ["system", "lib/libblas.so"]
model.path = ["m.pt", "n.pt"]
)",
                                   source);
    const auto runs = expand(study);
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(runs[0].data.path, "/somewhere/x.npy");
    EXPECT_EQ(runs[0].data.targets, "/somewhere/y.npy");
    EXPECT_EQ(runs[0].train.blas, "system"); // a word, no file
    EXPECT_EQ(runs[3].train.blas, "/somewhere/lib/libblas.so");
    EXPECT_EQ(runs[1].model.path, "/somewhere/n.pt");
    EXPECT_TRUE(runs[2].isReference);
    EXPECT_EQ(parseStudy("[data]\nkind=\"synthetic\"\nshape=[1,4,4]\n[train]\nsteps=1\nblas=\"b.so\"\n", source)
                  .base.train.blas,
              "/somewhere/b.so");
}

TEST(StudyToml, APathTooLongIsAStudyError) {
    EXPECT_NO_THROW({
        try {
            parseStudy("[data]\nkind = \"idx\"\npath = \"" + std::string(5000, 'a') +
                           "\"\n[train]\nsteps = 1\n",
                       source);
        } catch (const StudyError&) { // both are right
        }
    });
}

TEST(StudyToml, TheNameIsTheFilesWhereNoneIsGiven) {
    EXPECT_EQ(
        parseStudy("[data]\nkind=\"synthetic\"\nshape=[1,4,4]\n[train]\nsteps=1\n", source).name,
        "my-study");
}

} // namespace
} // namespace driftscope
