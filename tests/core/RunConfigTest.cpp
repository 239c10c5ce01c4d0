// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/RunConfig.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace driftscope {
namespace {

using test::messageOf;
using test::tinyConfig;
using Json = nlohmann::ordered_json;

std::string problemWith(const RunConfig& run) {
    return messageOf<StudyError>([&] { validate(run); });
}

/// The tiny configuration as JSON with one place of it changed.
std::string changed(const char* pointer, const Json& value) {
    Json json = Json::parse(toJson(tinyConfig()));
    json[Json::json_pointer(pointer)] = value;
    return json.dump();
}

TEST(RunConfig, JsonHasEveryKeyAndComesBack) {
    RunConfig run = tinyConfig("acc2_thr1", 7);
    run.study = "quotes \" and \\ and ünïcode 漢字\n";
    run.settings = {{"accumulation", std::int64_t{2}},
                    {"betas", std::vector<double>{0.8, 0.99}},
                    {"data.seed", std::int64_t{3}},
                    {"learning_rate", 0.1 + 0.2}};
    run.isReference = true;
    run.isTwin = true;
    run.train.optimizer = "adam";
    run.train.accumulation = 2;
    run.train.betas = {0.8, 0.99};
    run.train.learningRate = 0.1 + 0.2;
    run.train.threads = 4;
    run.data.seed = 3;
    run.data.limit = 5;
    run.record.gradients = "full";
    run.record.every = 3;

    const Json json = Json::parse(toJson(run));
    for (const SettingSpec& spec : settingSpecs())
        EXPECT_TRUE(json.at(std::string(spec.section)).contains(spec.key)) << spec.key;
    EXPECT_EQ(json["train"]["batch"], 2);
    EXPECT_EQ(json["train"]["epochs"], nullptr);
    EXPECT_EQ(json["settings"].begin().key(), "accumulation");

    const RunConfig back = runConfigFromJson(toJson(run));
    EXPECT_EQ(back.id, run.id);
    EXPECT_EQ(back.study, run.study);
    EXPECT_EQ(back.settings, run.settings);
    EXPECT_TRUE(back.isReference);
    EXPECT_TRUE(back.isTwin);
    for (const SettingSpec& spec : settingSpecs())
        EXPECT_EQ(spec.get(back), spec.get(run)) << spec.key;
}

TEST(RunConfig, JsonThatIsNoConfigurationIsOneStudyError) {
    for (const char* text :
         {"", "null", "[]", "{}", "{\"id\":1}", "{\"id\":\"a\"", "\"id\"", "\xff", "nan"})
        EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(text); }), "run configuration: ")
            << text;
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/train/batch", "two")); }),
               "batch: wrong type");
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/train/batch", 0)); }),
               "batch = 0: allowed is");
    EXPECT_HAS(
        messageOf<StudyError>([&] { runConfigFromJson(changed("/train/optimizer", "sdg")); }),
        "did you mean \"sgd\"?");
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/settings/thread", 1)); }),
               "did you mean \"threads\"?");
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/train/accumulation", 9)); }),
               "more than batch = 2");
}

// An unset value is only for settings that may be unset: a batch of 0 would be divided by.
TEST(RunConfig, NullForARequiredSettingIsRefused) {
    Json json = Json::parse(toJson(tinyConfig()));
    json["train"]["batch"] = nullptr;
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(json.dump()); }), "batch");
}

TEST(RunConfig, IntegersInJsonAreIntegers) {
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/train/batch", 2.5)); }),
               "batch");
    EXPECT_HAS(messageOf<StudyError>([&] { runConfigFromJson(changed("/train/batch", true)); }),
               "batch");
}

TEST(RunConfig, LabelSaysOnlyWhatTheAxesSay) {
    RunConfig run = tinyConfig();
    EXPECT_EQ(label(run), "run");
    run.settings = {{"accumulation", std::int64_t{4}},
                    {"threads", std::int64_t{2}},
                    {"optimizer", std::string("sgd")}};
    EXPECT_EQ(label(run), "acc 4 · thr 2 · sgd");
    run.isTwin = true;
    EXPECT_EQ(label(run), "acc 4 · thr 2 · sgd · float64 twin");
}

TEST(RunConfig, ValuesThatContradictEachOtherAreRefused) {
    EXPECT_EQ(problemWith(tinyConfig()), "no error");
    RunConfig run = tinyConfig();
    run.train.epochs = 1;
    EXPECT_HAS(problemWith(run), "both steps and epochs");
    run.train.steps.reset();
    EXPECT_EQ(problemWith(run), "no error");
    run.train.epochs.reset();
    EXPECT_HAS(problemWith(run), "needs steps or epochs");

    run = tinyConfig();
    run.train.accumulation = 2;
    EXPECT_EQ(problemWith(run), "no error");
    run.train.accumulation = 3;
    EXPECT_HAS(problemWith(run), "accumulation = 3 is more than batch = 2");

    run = tinyConfig();
    for (const std::vector<double>& betas :
         {std::vector<double>{0.9}, {0.9, 0.99, 0.999}, {1, 0.9}, {0.9, 1}, {}}) {
        run.train.betas = betas;
        EXPECT_HAS(problemWith(run), "betas = ");
    }

    run = tinyConfig();
    run.train.momentum = 0.9;
    EXPECT_EQ(problemWith(run), "no error");
    run.train.optimizer = "adam";
    EXPECT_HAS(problemWith(run), "momentum = 0.9 is for optimizer = \"sgd\"");
}

TEST(RunConfig, DevicesAndDataAreChecked) {
    RunConfig run = tinyConfig();
    for (const char* device : {"cpu", "cuda:0", "cuda:12"}) {
        run.train.device = device;
        EXPECT_EQ(problemWith(run), "no error") << device;
    }
    for (const char* device :
         {"", "gpu", "cuda", "cuda:", "cuda:x", "cuda:1234", "cpu ", "xcpu", "cpu\ncpu"}) {
        run.train.device = device;
        EXPECT_HAS(problemWith(run), "allowed: cpu, cuda:0") << device;
    }
    run = tinyConfig();
    run.data.shape = {3, 32};
    EXPECT_HAS(problemWith(run), "shape = 3x32: allowed are three numbers");
    run.data.shape.clear();
    EXPECT_HAS(problemWith(run), "\"synthetic\" needs a shape");
    for (const char* kind : {"idx", "cifar10"}) {
        run.data.kind = kind;
        EXPECT_HAS(problemWith(run), "needs a path");
        run.data.path = "/data";
        EXPECT_EQ(problemWith(run), "no error");
        run.data.path.clear();
    }
}

} // namespace
} // namespace driftscope
