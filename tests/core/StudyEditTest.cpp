// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/StudyEdit.h"

#include "study/Study.h"

#include <gtest/gtest.h>

#include <string>

namespace driftscope {
namespace {

const SettingSpec& setting(const char* name) { return settingNamed(name); }

TEST(StudyEdit, AValueChangesAndNothingElse) {
    const std::string text = "# my study\n[train] # ü\n  steps = 10 # ten\nbatch=4\n";
    EXPECT_EQ(withKey(text, "train", "steps", "20"), "# my study\n[train] # ü\n  steps = 20 # ten\nbatch=4\n");
    EXPECT_EQ(withKey(text, "train", "batch", "8"), "# my study\n[train] # ü\n  steps = 10 # ten\nbatch=8\n");
}

TEST(StudyEdit, PlacesAreBytesBehindCharactersOfSeveral) {
    EXPECT_EQ(withKey("[study]\nname = \"größe — 数\" # ü\ntwin = \"none\"\n", "study", "name", "\"x\""),
              "[study]\nname = \"x\" # ü\ntwin = \"none\"\n");
    EXPECT_EQ(withKey("[study]\nreference = { accumulation = 1 }\nname = \"é\"", "study", "name", "\"é2\""),
              "[study]\nreference = { accumulation = 1 }\nname = \"é2\"");
}

TEST(StudyEdit, ANewKeyGoesBehindTheLastOfItsSection) {
    EXPECT_EQ(withKey("[train]\nsteps = 1 # one\n\n# varies\n[axes]\nthreads = [1, 2]\n", "train", "batch", "4"),
              "[train]\nsteps = 1 # one\nbatch = 4\n\n# varies\n[axes]\nthreads = [1, 2]\n");
    EXPECT_EQ(withKey("[train]", "train", "batch", "4"), "[train]\nbatch = 4\n");
    EXPECT_EQ(withKey("[axes]\n[axes.data]\nlimit = [4]\n", "axes", "threads", "[1]"),
              "[axes]\nthreads = [1]\n[axes.data]\nlimit = [4]\n");
}

TEST(StudyEdit, ANewSectionHasItsPlace) {
    EXPECT_EQ(withKey("[study]\nname = \"x\"\n\n# varies\n[axes]\nthreads = [1, 2]\n", "train", "steps", "4"),
              "[study]\nname = \"x\"\n\n[train]\nsteps = 4\n\n# varies\n[axes]\nthreads = [1, 2]\n");
    EXPECT_EQ(withKey("[study]\nname = \"x\"", "record", "every", "4"), "[study]\nname = \"x\"\n\n[record]\nevery = 4\n");
    EXPECT_EQ(withKey("", "train", "steps", "4"), "[train]\nsteps = 4\n");
}

TEST(StudyEdit, BracesAndDotsStayAsTheyAre) {
    EXPECT_EQ(withKey("train = { steps = 1 }\n", "train", "batch", "4"), "train = { steps = 1, batch = 4 }\n");
    EXPECT_EQ(withoutKey("train = { steps = 1, batch = 4 }\n", "train", "steps"), "train = { batch = 4 }\n");
    EXPECT_EQ(withKey("train.steps = 1\n", "train", "batch", "4"), "train.steps = 1\ntrain.batch = 4\n");
    EXPECT_EQ(withoutKey("train.steps = 1\ntrain.batch = 4\n", "train", "steps"), "train.batch = 4\n");
}

TEST(StudyEdit, AKeyIsRemovedWithItsLines) {
    EXPECT_EQ(withoutKey("[model]\nhidden = [1, # a\n 2]\nkind = \"mlp\"\n", "model", "hidden"),
              "[model]\nkind = \"mlp\"\n");
    EXPECT_EQ(withoutKey("[model]\nkind = \"mlp\"", "model", "kind"), "[model]\n");
    EXPECT_EQ(withoutKey("[model]\n", "model", "kind"), "[model]\n");
}

TEST(StudyEdit, StepsAndEpochsExcludeEachOther) {
    EXPECT_EQ(withSetting("[train]\nsteps = 4\n", setting("epochs"), 2.0), "[train]\nepochs = 2.0\n");
    EXPECT_EQ(withSetting("[train]\nepochs = 4\n", setting("train.steps"), std::int64_t{2}), "[train]\nsteps = 2\n");
}

TEST(StudyEdit, AxisValuesAreAddedBehindTheOthers) {
    const SettingSpec& threads = setting("threads");
    EXPECT_EQ(withAxisValues("[axes]\nthreads = [1, 2] # t\n", "axes", threads, {std::int64_t{4}, std::int64_t{8}}),
              "[axes]\nthreads = [1, 2, 4, 8] # t\n");
    EXPECT_EQ(withAxisValues("[axes]\nthreads = [1, # one\n  2, # two\n]\n", "axes", threads, {std::int64_t{4}}),
              "[axes]\nthreads = [1, # one\n  2, 4, # two\n]\n");
    EXPECT_EQ(withAxisValues("[axes]\nthreads = 1\n", "axes", threads, {std::int64_t{4}}), "[axes]\nthreads = [1, 4]\n");
    EXPECT_EQ(withAxisValues("", "axes", threads, {std::int64_t{4}}), "[axes]\nthreads = [4]\n");
    EXPECT_EQ(withAxisValues("[full]\n\"data.limit\" = 5\n", "full", setting("limit"), {std::int64_t{4}}),
              "[full]\n\"data.limit\" = [5, 4]\n");
    const std::vector<std::int64_t> shape{3, 32, 32};
    EXPECT_EQ(withAxisValues("[axes]\nshape = [1, 2, 2]\n", "axes", setting("shape"), {shape}),
              "[axes]\nshape = [[1, 2, 2], [3, 32, 32]]\n");
}

TEST(StudyEdit, ARemovedValueLeavesTheReferenceToo) {
    const SettingSpec& threads = setting("threads");
    const std::string text = "[study]\nreference = { accumulation = 1, threads = 2 }\ngroups = [\"threads\"]\n"
                             "[axes]\naccumulation = [1, 2]\nthreads = [1, 2, 4]\n";
    EXPECT_EQ(withoutAxisValue(text, "axes", threads, 1),
              "[study]\nreference = { accumulation = 1 }\ngroups = [\"threads\"]\n"
              "[axes]\naccumulation = [1, 2]\nthreads = [1, 4]\n");
    EXPECT_EQ(withoutAxisValue(text, "axes", threads, 2),
              "[study]\nreference = { accumulation = 1, threads = 2 }\ngroups = [\"threads\"]\n"
              "[axes]\naccumulation = [1, 2]\nthreads = [1, 2]\n");
    EXPECT_EQ(withoutAxis(text, "axes", threads),
              "[study]\nreference = { accumulation = 1 }\n[axes]\naccumulation = [1, 2]\n");
    EXPECT_EQ(withoutAxisValue("[axes]\nthreads = [1]\n", "axes", threads, 0), "[axes]\n");
}

TEST(StudyEdit, TheReferenceOfOneAxisChanges) {
    EXPECT_EQ(withReference("[study]\nreference = { accumulation = 1, threads = 1 } # r\n", setting("threads"),
                            std::int64_t{2}),
              "[study]\nreference = { accumulation = 1, threads = 2 } # r\n");
    EXPECT_EQ(withReference("[study]\nname = \"x\"\n", setting("cpu_isa"), std::string("avx2")),
              "[study]\nname = \"x\"\nreference = { cpu_isa = \"avx2\" }\n");
    EXPECT_EQ(withReference("[study.reference]\nthreads = 1\n", setting("threads"), std::int64_t{2}),
              "[study.reference]\nthreads = 2\n");
}

TEST(StudyEdit, GroupsAreTurnedOnAndOff) {
    const SettingSpec& seed = setting("seed");
    const std::string on = withGroup("[study]\nname = \"x\"\n", seed, true);
    EXPECT_EQ(on, "[study]\nname = \"x\"\ngroups = [\"seed\"]\n");
    EXPECT_EQ(withGroup(on, seed, true), on);
    const std::string both = withGroup(on, setting("dropout"), true);
    EXPECT_EQ(both, "[study]\nname = \"x\"\ngroups = [\"seed\", \"dropout\"]\n");
    EXPECT_EQ(withGroup(both, seed, false), "[study]\nname = \"x\"\ngroups = [\"dropout\"]\n");
    EXPECT_EQ(withGroup(on, seed, false), "[study]\nname = \"x\"\n");
}

TEST(StudyEdit, PathsBecomeAbsolute) {
    EXPECT_EQ(withAbsolutePaths("[data]\npath = \"a/b\"\n[axes]\n\"model.path\" = [\"m.pt\", \"/x.pt\"]\nblas = "
                                "[\"system\"]\n",
                                "/s"),
              "[data]\npath = \"/s/a/b\"\n[axes]\n\"model.path\" = [\"/s/m.pt\", \"/x.pt\"]\nblas = [\"system\"]\n");
}

TEST(StudyEdit, AnyOrderOfEditsOfABuiltInStudyParses) {
    for (const BuiltInStudy& study : builtInStudies()) {
        std::string text(study.toml);
        for (const SettingSpec& spec : settingSpecs())
            if (spec.section == "record" && spec.key != "steps")
                text = withSetting(text, spec, spec.get(RunConfig{}));
        text = withAxisValues(text, "axes", setting("interop_threads"), {std::int64_t{1}, std::int64_t{2}});
        const Study changed = parseStudy(text, "/x.toml");
        EXPECT_EQ(changed.axes.back().key, "interop_threads") << study.name;
        EXPECT_EQ(expand(changed).empty(), false);
        text = withoutAxis(text, "axes", setting("interop_threads"));
        EXPECT_EQ(parseStudy(text, "/x.toml").axes.size() + 1, changed.axes.size()) << study.name;
    }
}

TEST(StudyEdit, TextThatIsNoTomlIsRefused) { EXPECT_THROW(withKey("[train\n", "train", "steps", "1"), StudyTextError); }

} // namespace
} // namespace driftscope
