// SPDX-License-Identifier: GPL-3.0-or-later
// Expansion to runs and overrides; what study.toml says is in StudyTomlTest.cpp.
#include "study/Study.h"
#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace driftscope {
namespace {

using test::messageOf;

Study study(const std::string& axes, const std::string& studyKeys = "") {
    return parseStudy("[study]\n" + studyKeys +
                          "\n[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n" +
                          "[train]\nsteps = 3\n[axes]\n" + axes,
                      "/somewhere/s.toml");
}

std::vector<std::string> ids(const std::vector<RunConfig>& runs) {
    std::vector<std::string> result;
    for (const RunConfig& run : runs)
        result.push_back(run.id);
    return result;
}

TEST(Study, ExpandsAllCombinationsTheLastAxisFastest) {
    const auto runs = expand(study("accumulation = [1, 2]\nthreads = [1, 2, 3]"));
    ASSERT_EQ(runs.size(), 6U);
    const std::int64_t expected[6][2] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3}};
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(runs[i].train.accumulation, expected[i][0]);
        EXPECT_EQ(runs[i].train.threads, expected[i][1]);
        EXPECT_EQ(runs[i].settings, (std::vector<Assignment>{{"accumulation", expected[i][0]},
                                                             {"threads", expected[i][1]}}));
        EXPECT_EQ(runs[i].study, "s");
        EXPECT_EQ(runs[i].train.steps, 3);
        EXPECT_EQ(runs[i].isReference, i == 0);
    }
    EXPECT_EQ(ids(runs), (std::vector<std::string>{"acc1_thr1", "acc1_thr2", "acc1_thr3",
                                                   "acc2_thr1", "acc2_thr2", "acc2_thr3"}));
}

TEST(Study, AxesKeepTheOrderOfTheFile) {
    const auto runs = expand(study("threads = [1, 2]\naccumulation = [1, 2]"));
    ASSERT_EQ(runs.size(), 4U);
    EXPECT_EQ(runs[1].train.threads, 1);
    EXPECT_EQ(runs[1].train.accumulation, 2);
}

TEST(Study, EachValueOfAGroupAxisHasAReferenceAndAControl) {
    const auto grouped = study("optimizer = [\"adam\", \"sgd\"]\naccumulation = [1, 2]",
                               "groups = [\"optimizer\"]\nreference = { accumulation = 2 }\ncontrol = true");
    const auto runs = expand(grouped);
    ASSERT_EQ(ids(runs), (std::vector<std::string>{"adam_acc1", "adam_acc2", "sgd_acc1", "sgd_acc2", "adam_acc2~again",
                                                   "sgd_acc2~again"}));
    for (const RunConfig& run : runs)
        EXPECT_EQ(run.isReference, run.id == "adam_acc2" || run.id == "sgd_acc2") << run.id;
    EXPECT_TRUE(runs[4].isControl && runs[5].isControl);
    EXPECT_EQ(groupOf(grouped, runs[0]), groupOf(grouped, runs[4]));
    EXPECT_NE(groupOf(grouped, runs[0]), groupOf(grouped, runs[2]));
    const Study back = parseStudy(toToml(grouped), "/somewhere/s.toml");
    EXPECT_EQ(back.groups, grouped.groups);
}

TEST(Study, FullSizeReplacesSettingsAndAxes) {
    Study trimmed = parseStudy("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 3\n[axes]\n"
                               "accumulation = [1, 2]\n[full]\nsteps = 30\naccumulation = [1, 2, 4]\nthreads = [1, 2]\n"
                               "weights = \"digest\"\n",
                               "/somewhere/s.toml");
    EXPECT_EQ(expand(trimmed).size(), 2U);
    EXPECT_EQ(toToml(parseStudy(toToml(trimmed), "/somewhere/s.toml")), toToml(trimmed));
    applyFullSize(trimmed);
    const auto runs = expand(trimmed);
    ASSERT_EQ(runs.size(), 6U);
    EXPECT_EQ(runs[5].train.steps, 30);
    EXPECT_EQ(runs[5].train.accumulation, 4);
    EXPECT_EQ(runs[5].record.weights, "digest");
    EXPECT_TRUE(runs[0].isReference);
    EXPECT_HAS(messageOf<StudyError>([&] { applyFullSize(trimmed); }), "s: has no [full] section");
}

TEST(Study, WithoutAxesThereIsOneRun) {
    const auto runs = expand(study(""));
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].id, "run");
    EXPECT_TRUE(runs[0].isReference);
    EXPECT_TRUE(runs[0].settings.empty());
}

TEST(Study, ReferenceIsTheOneAskedForAndOnlyOne) {
    const auto runs = expand(study("accumulation = [1, 2]\nthreads = [1, 2]\nrepeat = 2",
                                   "reference = { accumulation = 2 }"));
    ASSERT_EQ(runs.size(), 8U);
    for (std::size_t i = 0; i < runs.size(); ++i)
        EXPECT_EQ(runs[i].isReference, i == 4)
            << i; // acc 2, thr 1, repeat 1: the first value where none is named
}

TEST(Study, RepeatCountsFromOne) {
    const Study repeated = study("repeat = 2");
    ASSERT_EQ(repeated.axes.size(), 1U);
    EXPECT_EQ(repeated.axes[0].values,
              (std::vector<SettingValue>{std::int64_t{1}, std::int64_t{2}}));
    const auto runs = expand(repeated);
    EXPECT_EQ(ids(runs), (std::vector<std::string>{"repeat1", "repeat2"}));
    EXPECT_EQ(runs[1].train.repeat, 2);
    EXPECT_EQ(expand(study("repeat = [5, 9]"))[1].train.repeat, 9);
}

TEST(Study, TwinsFollowAllRunsAndOnlyThoseThatNeedOne) {
    const auto runs =
        expand(study("dtype = [\"float32\", \"float64\"]\nthreads = [1, 2]", "twin = \"float64\""));
    ASSERT_EQ(runs.size(), 6U);
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_FALSE(runs[i].isTwin);
    for (std::size_t i = 4; i < 6; ++i) {
        EXPECT_TRUE(runs[i].isTwin);
        EXPECT_EQ(runs[i].train.dtype, "float64");
        EXPECT_EQ(runs[i].settings, runs[i - 4].settings);
        EXPECT_EQ(runs[i].id, runs[i - 4].id + "~float64");
        EXPECT_EQ(runs[i].isReference, runs[i - 4].isReference);
    }
}

TEST(Study, SettingsThatChangeNothingAreNamed) {
    const auto unused = [](const std::string& settings, const std::string& override = "") {
        Study study = parseStudy("[model]\nkind = \"mlp\"\n[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n" + settings,
                                 "/somewhere/s.toml");
        if (!override.empty())
            applyOverride(study, override);
        return unusedSettings(study);
    };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(unused("[train]\nsteps = 3\n"), Texts{}) << "of defaults nobody asked for";
    const Texts betas{"[train] betas changes nothing here: betas is only for adam and adamw"};
    EXPECT_EQ(unused("[train]\nsteps = 3\nbetas = [0.9, 0.999]\n"), betas);
    EXPECT_EQ(unused("[train]\nsteps = 3\n", "betas=0.8x0.99"), betas);
    EXPECT_EQ(unused("[train]\nsteps = 3\n", "path=/data"),
              Texts{"[data] path changes nothing here: path is only for data that are read from files"});
    EXPECT_EQ(unused("[train]\nsteps = 3\n[axes]\nbetas = [[0.8, 0.99]]\n"), betas);
    EXPECT_EQ(unused("[train]\nsteps = 3\nbetas = [0.9, 0.999]\n[axes]\noptimizer = [\"sgd\", \"adam\"]\n"), Texts{});
    EXPECT_EQ(unused("[train]\nsteps = 3\nbetas = [0.9, 0.999]\n", "optimizer=adam"), Texts{});
    EXPECT_EQ(unused("[train]\nsteps = 3\n[record]\nevery = 2\nsteps = \"log\"\nsample_size = 9\n").size(), 2U);
    EXPECT_EQ(unused("[train]\nsteps = 3\n[record]\nevery = 2\nweights = \"sample\"\nsample_size = 9\n"), Texts{});
}

TEST(Study, BuiltInStudiesNameNothingThatIsUnused) {
    for (const BuiltInStudy& builtIn : builtInStudies()) {
        Study study = parseStudy(builtIn.toml, "/somewhere/s.toml");
        EXPECT_EQ(unusedSettings(study), std::vector<std::string>{}) << builtIn.name;
        if (!study.full.empty()) {
            applyFullSize(study);
            EXPECT_EQ(unusedSettings(study), std::vector<std::string>{}) << builtIn.name;
        }
    }
}

TEST(Study, IdsAreFileNamesWhateverTheValues) {
    Study nasty = study("");
    nasty.base.data.kind = "fashion-mnist"; // has files, and may do without a path
    std::vector<SettingValue> values;
    for (const char* text : {"/data/a b", "/data/a_b", "/data/a*b", "../../etc", "..", ".", "", "~",
                             "a\nb", "\xC3\xA9t\xC3\xA9", "-rf", "x~2", "CON", "a;b|c$(d)`e`'\""})
        values.emplace_back(std::string(text));
    values.emplace_back(std::string(3000, 'p') + "1");
    values.emplace_back(std::string(3000, 'p') + "2");
    values.emplace_back(std::string(3000, 'q') + std::string(100, 'p') + "1");
    const std::size_t count = values.size();
    setAxis(nasty, *findSetting("data", "path"), std::move(values));
    std::set<std::string> seen;
    const test::TemporaryFolder folder;
    for (const RunConfig& run : expand(nasty)) {
        EXPECT_TRUE(seen.insert(run.id).second) << run.id;
        EXPECT_LE(run.id.size(), 200U);
        EXPECT_EQ(run.id.find_first_not_of(
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~"),
                  std::string::npos)
            << run.id;
        EXPECT_NE(run.id.front(), '.') << run.id;
        EXPECT_NE(run.id.front(), '-') << run.id << " would be read as an option";
        test::writeFile(folder / (run.id + ".h5"), "x");
        EXPECT_TRUE(std::filesystem::is_regular_file(folder / (run.id + ".h5"))) << run.id;
    }
    EXPECT_EQ(seen.size(), count);
}

// Every axis at once, each with one value: the file system allows 255 bytes for a name.
TEST(Study, IdsFitAFileNameWithManyAxes) {
    std::string axes;
    for (const SettingSpec& spec : settingSpecs())
        if (spec.canBeAxis && spec.key != "epochs" && spec.key != "momentum" &&
            spec.key != "steps") {
            RunConfig run;
            run.model.headSeed = 9007199254740992;
            run.model.projection = 65536;
            run.data.mean = run.data.std = {0.12345678901234567, 0.12345678901234567, 0.12345678901234567};
            run.data.shape = {3, 65536, 65536};
            run.data.limit = 1000000;
            run.data.path = "/a/very/long/path/to/some/data/set/somewhere";
            run.data.seed = run.train.orderSeed = run.train.seed = 9007199254740992;
            run.train.threads = run.train.interopThreads = run.train.initThreads = 1000;
            run.train.learningRate = run.train.weightDecay = 0.12345678901234567;
            const SettingValue value = spec.get(run);
            std::string text = toText(value);
            if (spec.type == SettingType::Text)
                text = '"' + text + '"';
            if (spec.type == SettingType::IntegerList || spec.type == SettingType::RealList) {
                for (std::size_t x; (x = text.find('x')) != std::string::npos;)
                    text[x] = ',';
                text = '[' + text + ']';
            }
            axes += '"' + spec.axisKey() + "\" = [" + text + "]\n";
        }
    const auto runs = expand(study(axes, "twin = \"float64\""));
    ASSERT_EQ(runs.size(), 2U);
    for (const RunConfig& run : runs)
        EXPECT_LE((run.id + ".h5.new").size(), 255U) << run.id;
}

TEST(Study, OverrideWithOneValueSetsTheBase) {
    Study changed = study("accumulation = [1, 2]\nthreads = [1, 2]", "reference = { threads = 2 }");
    applyOverride(changed, "threads=3");
    ASSERT_EQ(changed.axes.size(), 1U);
    EXPECT_EQ(changed.axes[0].key, "accumulation");
    EXPECT_EQ(changed.reference, (std::vector<Assignment>{{"accumulation", std::int64_t{1}}}));
    for (const RunConfig& run : expand(changed))
        EXPECT_EQ(run.train.threads, 3);
    applyOverride(changed, "data.limit=7");
    EXPECT_EQ(changed.base.data.limit, 7);
}

TEST(Study, OverrideWithSeveralValuesMakesAnAxis) {
    Study changed = study("threads = [1, 2]", "reference = { threads = 2 }");
    applyOverride(changed, "optimizer=sgd,adam");
    EXPECT_EQ(expand(changed).size(), 4U);
    EXPECT_EQ(changed.axes.back().key, "optimizer");
    EXPECT_EQ(changed.reference.back(), (Assignment{"optimizer", std::string("sgd")}));
    // the reference stays if it is still a value, else it is the first
    applyOverride(changed, "threads=4,2");
    EXPECT_EQ(changed.reference[0].value, SettingValue(std::int64_t{2}));
    applyOverride(changed, "threads=8,9");
    EXPECT_EQ(changed.reference[0].value, SettingValue(std::int64_t{8}));
    EXPECT_EQ(expand(changed).size(), 4U);
    applyOverride(changed, "repeat=3");
    EXPECT_EQ(expand(changed).size(), 12U);
    applyOverride(changed, "betas=0.9x0.99,0.8x0.9");
    EXPECT_EQ(expand(changed).size(), 24U);
}

TEST(Study, OverrideOfStepsOrEpochsReplacesTheOther) {
    Study changed = study("");
    applyOverride(changed, "epochs=0.5");
    EXPECT_EQ(changed.base.train.steps, std::nullopt);
    EXPECT_EQ(changed.base.train.epochs, 0.5);
    applyOverride(changed, "steps=9");
    EXPECT_EQ(changed.base.train.steps, 9);
    EXPECT_EQ(changed.base.train.epochs, std::nullopt);
}

TEST(Study, OverrideOfStepsOrEpochsAsAnAxisReplacesTheOther) {
    Study changed = study("");
    applyOverride(changed, "epochs=1,2");
    EXPECT_EQ(expand(changed).size(), 2U);
    EXPECT_EQ(changed.base.train.steps, std::nullopt);
}

TEST(Study, OverridesMayBeTomlLists) {
    Study changed = study("threads = [1, 2]");
    const auto valuesOf = [&](std::string_view key) {
        const auto axis = std::ranges::find(changed.axes, std::string(key), &Axis::key);
        return axis == changed.axes.end() ? std::vector<SettingValue>() : axis->values;
    };
    using Steps = std::vector<std::int64_t>;
    applyOverride(changed, "steps=[1, 2, 5]");
    EXPECT_EQ(valuesOf("steps"), (std::vector<SettingValue>{std::int64_t{1}, std::int64_t{2}, std::int64_t{5}}));
    applyOverride(changed, "optimizer=[\"sgd\", 'adam']");
    EXPECT_EQ(valuesOf("optimizer"), (std::vector<SettingValue>{std::string("sgd"), std::string("adam")}));
    applyOverride(changed, "threads=[3]");
    EXPECT_EQ(changed.base.train.threads, 3);
    EXPECT_TRUE(valuesOf("threads").empty());
    // what is a list itself takes one as its value, and an axis of lists is a list of them
    applyOverride(changed, "record.steps=[1,2,5]");
    EXPECT_EQ(changed.base.record.steps, (Steps{1, 2, 5}));
    applyOverride(changed, "hidden=[[8], [16, 4]]");
    EXPECT_EQ(valuesOf("hidden"), (std::vector<SettingValue>{Steps{8}, Steps{16, 4}}));
    applyOverride(changed, "betas=[0.9, 0.99]");
    EXPECT_EQ(changed.base.train.betas, (std::vector<double>{0.9, 0.99}));
}

TEST(Study, BadOverridesSayWhatIsAllowed) {
    Study changed = study("threads = [1, 2]");
    const auto problem = [&](const char* text) {
        return messageOf<StudyError>([&] {
            applyOverride(changed, text);
            expand(changed);
        });
    };
    for (const char* text : {"", "=", "threads", "threads=", "=2"})
        EXPECT_HAS(problem(text), "expected key=value");
    EXPECT_HAS(problem("thread=1"), "did you mean \"threads\"?");
    EXPECT_HAS(problem("threads=1,x"), "threads = \"x\": expected an integer");
    EXPECT_HAS(problem("threads=1,,2"), "threads = \"\": expected an integer");
    EXPECT_HAS(problem("threads=0"), "allowed is 1 … 1024");
    EXPECT_HAS(problem("threads=2,2"), "threads names 2 twice");
    EXPECT_HAS(problem("every=2,3"), "cannot be an axis");
    EXPECT_HAS(problem("record.steps=1,2,5"), "steps cannot be an axis: give it one value, such as record.steps=[1,2,5]");
    EXPECT_HAS(problem("steps=[1, true]"), "--set:1:11: steps = true");
    EXPECT_HAS(problem("threads=[1, 0]"), "--set:1:13: threads = 0: allowed is 1 … 1024");
    EXPECT_HAS(problem("threads=[1, 2"), "--set:1:");
    EXPECT_HAS(problem("threads=[]"), "has no values");
    EXPECT_HAS(problem("threads=[1]\nbatch = 4"), "expected one setting");
    EXPECT_HAS(problem("record.steps=[1, \"log\"]"), "wrong type");
    EXPECT_HAS(problem("accumulation=1,17"), "accumulation = 17 is more than batch = 16");
    EXPECT_HAS(problem("optimizer=adm"), "did you mean \"adam\"?");
}

TEST(Study, BuiltInStudiesAreValidAndFoundByName) {
    ASSERT_GE(builtInStudies().size(), 2U);
    for (const BuiltInStudy& each : builtInStudies()) {
        const Study loaded = loadStudy(std::string(each.name));
        EXPECT_EQ(loaded.name, each.name);
        EXPECT_GE(expand(loaded).size(), 2U);
    }
    const std::string problem = messageOf<StudyError>([] { loadStudy("quikstart"); });
    EXPECT_HAS(problem,
               "quikstart: no such file, and no built-in study, did you mean \"quickstart\"?");
    EXPECT_HAS(problem, "gradient-accumulation");
}

TEST(Study, LoadsFilesAndFolders) {
    const test::TemporaryFolder folder;
    test::writeFile(folder / "study.toml", toToml(study("threads = [1, 2]", "name = \"mine\"")));
    EXPECT_EQ(loadStudy((folder / "study.toml").string()).name, "mine");
    EXPECT_EQ(expand(loadStudy(folder.path().string())).size(), 2U);
    EXPECT_HAS(messageOf<StudyError>([&] { readStudy(folder / "none.toml"); }),
               "none.toml: cannot be read");
}

} // namespace
} // namespace driftscope
