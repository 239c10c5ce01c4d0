// SPDX-License-Identifier: GPL-3.0-or-later
// Booleans, lists that a word may stand for, and bare keys: the same from TOML, --set and JSON.
#include "study/Study.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace driftscope {
namespace {

using Json = nlohmann::ordered_json;
using Integers = std::vector<std::int64_t>;
using test::messageOf;

Study study(const std::string& lines) {
    return parseStudy("[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 3\n" + lines,
                      "/somewhere/s.toml");
}

std::string problem(const std::string& lines) {
    return messageOf<StudyError>([&] { study(lines); });
}

Study overridden(const std::string& text) {
    Study changed = study("");
    applyOverride(changed, text);
    expand(changed);
    return changed;
}

std::string problemOfOverride(const std::string& text) {
    return messageOf<StudyError>([&] { overridden(text); });
}

/// What comes back of the tiny configuration as JSON with one place of it changed.
RunConfig fromJson(const char* pointer, const Json& value) {
    Json json = Json::parse(toJson(test::tinyConfig()));
    json[Json::json_pointer(pointer)] = value;
    return runConfigFromJson(json.dump());
}

std::string problemOfJson(const char* pointer, const Json& value) {
    return messageOf<StudyError>([&] { fromJson(pointer, value); });
}

TEST(SettingValues, BooleansInToml) {
    EXPECT_TRUE(study("deterministic = true").base.train.deterministic);
    EXPECT_FALSE(study("deterministic = false").base.train.deterministic);
    for (const char* value : {"1", "0", "\"true\"", "\"yes\"", "1.0", "[true]"})
        EXPECT_HAS(problem(std::string("deterministic = ") + value), "s.toml:6:17: deterministic = ") << value;
    EXPECT_HAS(problem("deterministic = 1"), "wrong type; LibTorch's deterministic algorithms");
    const Study both = study("[axes]\ndeterministic = [false, true]\nbatch_norm = [true]\nrandom_flip = true");
    ASSERT_EQ(both.axes.size(), 2U);
    EXPECT_TRUE(both.base.data.randomFlip);
    const auto runs = expand(both);
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_FALSE(runs[0].train.deterministic);
    EXPECT_TRUE(runs[1].train.deterministic);
    EXPECT_TRUE(runs[1].model.batchNorm);
    EXPECT_NE(runs[0].id, runs[1].id);
    EXPECT_EQ(label(runs[1]), "deterministic true · bn true");
    EXPECT_HAS(problem("[axes]\ndeterministic = [true, true]"), "deterministic names true twice");
    const Study back = parseStudy(toToml(both), "/somewhere/s.toml");
    EXPECT_EQ(back.axes[0].values, both.axes[0].values);
    EXPECT_TRUE(back.base.data.randomFlip);
}

TEST(SettingValues, BooleansInOverrides) {
    EXPECT_TRUE(overridden("deterministic=true").base.train.deterministic);
    EXPECT_FALSE(overridden("train.deterministic=false").base.train.deterministic);
    EXPECT_EQ(expand(overridden("deterministic=true,false")).size(), 2U);
    for (const char* text : {"1", "0", "True", "yes", "on", "", "true ", "truefalse"})
        EXPECT_NE(problemOfOverride(std::string("deterministic=") + text), "no error") << text;
    EXPECT_HAS(problemOfOverride("deterministic=1"), "deterministic = \"1\": expected true or false");
    EXPECT_HAS(problemOfOverride("autocast=true,maybe"), "autocast = \"maybe\": expected true or false");
}

TEST(SettingValues, BooleansInJson) {
    EXPECT_TRUE(fromJson("/train/deterministic", true).train.deterministic);
    EXPECT_FALSE(fromJson("/train/deterministic", false).train.deterministic);
    EXPECT_EQ(Json::parse(toJson(test::tinyConfig()))["model"]["batch_norm"], Json(false));
    for (const Json& value : {Json(1), Json(0), Json("true"), Json::array({true}), Json(nullptr)})
        EXPECT_HAS(problemOfJson("/train/deterministic", value), "deterministic") << value;
    RunConfig run = test::tinyConfig();
    run.settings = {{"deterministic", true}};
    EXPECT_EQ(runConfigFromJson(toJson(run)).settings, run.settings);
}

TEST(SettingValues, RecordedStepsInToml) {
    const Study list = study("[record]\nsteps = [0, 3, 17]"), word = study("[record]\nsteps = \"log\"");
    EXPECT_EQ(list.base.record.steps, (Integers{0, 3, 17}));
    EXPECT_FALSE(list.base.record.isLogarithmic);
    EXPECT_TRUE(word.base.record.steps.empty());
    EXPECT_TRUE(word.base.record.isLogarithmic);
    EXPECT_EQ(list.base.train.steps, 3); // the other steps
    for (const Study& each : {list, word}) {
        const Study back = parseStudy(toToml(each), "/somewhere/s.toml");
        EXPECT_EQ(back.base.record.steps, each.base.record.steps);
        EXPECT_EQ(back.base.record.isLogarithmic, each.base.record.isLogarithmic);
    }
    EXPECT_HAS(problem("[record]\nsteps = \"lgo\""), "s.toml:7:9: steps = \"lgo\" is not known, did you mean \"log\"?");
    EXPECT_HAS(problem("[record]\nsteps = 3"), "wrong type; Rows at these steps only, or \"log\"");
    EXPECT_HAS(problem("[record]\nsteps = [\"log\"]"), "wrong type");
    EXPECT_HAS(problem("[record]\nsteps = [1.5]"), "wrong type");
    EXPECT_HAS(problem("[record]\nsteps = [-1]"), "steps = -1: allowed is ≥ 0");
    EXPECT_HAS(problem("[record]\nsteps = [3, 2]"), "they must rise");
    EXPECT_HAS(problem("[axes]\n\"record.steps\" = [\"log\"]"), "record.steps cannot be an axis");
    // a word stands for no other list
    EXPECT_HAS(problem("betas = \"log\""), "wrong type");
}

TEST(SettingValues, RecordedStepsInOverrides) {
    EXPECT_TRUE(overridden("record.steps=log").base.record.isLogarithmic);
    EXPECT_EQ(overridden("record.steps=1x5x9").base.record.steps, (Integers{1, 5, 9}));
    Study changed = overridden("record.steps=log");
    applyOverride(changed, "record.steps=7");
    EXPECT_EQ(changed.base.record.steps, Integers{7});
    EXPECT_FALSE(changed.base.record.isLogarithmic);
    EXPECT_HAS(problemOfOverride("record.steps=lgo"), "steps = \"lgo\": expected a list of integers, or one of: log");
    EXPECT_HAS(problemOfOverride("record.steps=1,2"), "steps cannot be an axis: give it one value");
    EXPECT_HAS(problemOfOverride("record.steps=9x5"), "they must rise");
    EXPECT_HAS(problemOfOverride("steps=log"), "steps = \"log\": expected an integer"); // [train] steps
}

TEST(SettingValues, RecordedStepsInJson) {
    EXPECT_TRUE(fromJson("/record/steps", "log").record.isLogarithmic);
    EXPECT_EQ(fromJson("/record/steps", {1, 4}).record.steps, (Integers{1, 4}));
    EXPECT_HAS(problemOfJson("/record/steps", "linear"), "steps = \"linear\" is not known");
    EXPECT_HAS(problemOfJson("/record/steps", {1, "log"}), "steps: wrong type");
    EXPECT_HAS(problemOfJson("/record/steps", 3), "steps: wrong type");
    EXPECT_HAS(problemOfJson("/record/steps", {4, 1}), "they must rise");
    EXPECT_HAS(problemOfJson("/model/hidden", "log"), "hidden: wrong type");
    RunConfig run = test::tinyConfig();
    run.record.isLogarithmic = true;
    EXPECT_EQ(Json::parse(toJson(run))["record"]["steps"], Json("log"));
    EXPECT_TRUE(runConfigFromJson(toJson(run)).record.isLogarithmic);
}

TEST(SettingValues, ABareKeyIsTheFirstOfTrainDataModelRecord) {
    const auto keyOf = [](const char* section, const char* key) { return findSetting(section, key)->axisKey(); };
    EXPECT_EQ(keyOf("train", "steps"), "steps");
    EXPECT_EQ(keyOf("record", "steps"), "record.steps");
    EXPECT_EQ(keyOf("train", "optimizer"), "optimizer");
    EXPECT_EQ(keyOf("record", "optimizer"), "record.optimizer");
    EXPECT_EQ(keyOf("train", "seed"), "seed");
    EXPECT_EQ(keyOf("data", "seed"), "data.seed");
    EXPECT_EQ(keyOf("data", "kind"), "kind");
    EXPECT_EQ(keyOf("model", "kind"), "model.kind");
    EXPECT_EQ(keyOf("data", "path"), "path");
    EXPECT_EQ(keyOf("model", "path"), "model.path");
    EXPECT_EQ(keyOf("model", "dropout"), "dropout");
    EXPECT_EQ(keyOf("record", "weights"), "weights");

    std::set<std::string_view> taken;
    for (const std::string_view section : {"train", "data", "model", "record"})
        for (const SettingSpec& spec : settingSpecs()) {
            if (spec.section != section)
                continue;
            const std::string whole = std::string(section) + "." + std::string(spec.key);
            EXPECT_EQ(spec.axisKey(), taken.insert(spec.key).second ? std::string(spec.key) : whole);
            EXPECT_EQ(&settingNamed(spec.axisKey()), &spec) << whole;
            EXPECT_EQ(&settingNamed(whole), &spec);
        }
    EXPECT_EQ(overridden("optimizer=adam").base.record.optimizer, "none");
    EXPECT_EQ(overridden("record.optimizer=full").base.train.optimizer, "sgd");
    EXPECT_EQ(expand(study("[axes]\nmodel.kind = [\"mlp\", \"cifar_cnn\"]"))[0].data.kind, "synthetic");
}

} // namespace
} // namespace driftscope
