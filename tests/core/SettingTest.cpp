// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/Setting.h"
#include "study/RunConfig.h"
#include "support/Files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace driftscope {
namespace {

using test::messageOf;

const SettingSpec& spec(std::string_view section, std::string_view key) {
    const SettingSpec* found = findSetting(section, key);
    EXPECT_NE(found, nullptr) << section << "." << key;
    return *found;
}

std::string problemWith(std::string_view section, std::string_view key, const SettingValue& value) {
    return messageOf<StudyError>([&] { checkValue(spec(section, key), value); });
}

/// A value that the setting allows and that is not its default.
SettingValue otherValue(const SettingSpec& spec) {
    switch (spec.type) {
    case SettingType::Boolean:
        return true;
    case SettingType::Integer:
        return std::int64_t{7};
    case SettingType::Real:
        return 0.4375;
    case SettingType::Text:
        return std::string(spec.choices.empty() ? "x" : spec.choices.back());
    case SettingType::IntegerList:
        return std::vector<std::int64_t>{5, 6, 7};
    case SettingType::RealList:
        return std::vector<double>{0.25, 0.5};
    }
    return {};
}

TEST(Setting, EverySettingIsDescribed) {
    std::set<std::string> names, axisKeys;
    for (const SettingSpec& each : settingSpecs()) {
        const std::string name = std::string(each.section) + "." + std::string(each.key);
        EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
        EXPECT_TRUE(axisKeys.insert(each.axisKey()).second)
            << each.axisKey() << " means two settings";
        EXPECT_GE(each.help.size(), 4U) << name;
        EXPECT_TRUE(std::set<std::string_view>({"model", "data", "train", "record"})
                        .contains(each.section));
        ASSERT_NE(each.get, nullptr) << name;
        ASSERT_NE(each.set, nullptr) << name;
    }
    EXPECT_GE(names.size(), 30U);
}

TEST(Setting, EveryDefaultPassesItsOwnCheck) {
    const RunConfig defaults;
    for (const SettingSpec& each : settingSpecs()) {
        const SettingValue value = each.get(defaults);
        // shape and path may be empty: not every data set needs one
        if (!std::holds_alternative<std::monostate>(value)) {
            EXPECT_NO_THROW(checkValue(each, value)) << each.key;
        }
    }
}

TEST(Setting, EverySettingReadsBackWhatWasSetAndChangesNoOther) {
    for (const SettingSpec& each : settingSpecs()) {
        RunConfig run;
        const SettingValue value = otherValue(each);
        ASSERT_NO_THROW(checkValue(each, value)) << each.key;
        each.set(run, value);
        EXPECT_EQ(each.get(run), value) << each.key;
        for (const SettingSpec& other : settingSpecs())
            if (&other != &each) {
                EXPECT_EQ(other.get(run), other.get(RunConfig{}))
                    << each.key << " changes " << other.key;
            }
    }
}

TEST(Setting, EveryValueSurvivesItsText) {
    for (const SettingSpec& each : settingSpecs())
        EXPECT_EQ(parseValue(each, toText(otherValue(each))), otherValue(each)) << each.key;
    // the fewest digits that give the same real back
    EXPECT_EQ(toText(0.1), "0.1");
    EXPECT_EQ(toText(1e-3), "0.001");
    EXPECT_EQ(toText(std::vector<double>{0.9, 0.999}), "0.9x0.999");
    EXPECT_EQ(toText(std::vector<std::int64_t>{3, 32, 32}), "3x32x32");
    EXPECT_EQ(std::get<double>(parseValue(spec("train", "learning_rate"), toText(0.1 + 0.2))),
              0.1 + 0.2);
}

TEST(Setting, UnsetIsNoValue) {
    RunConfig run;
    EXPECT_TRUE(std::holds_alternative<std::monostate>(spec("train", "threads").get(run)));
    spec("train", "threads").set(run, std::int64_t{2});
    EXPECT_EQ(run.train.threads, 2);
    spec("train", "threads").set(run, {});
    EXPECT_EQ(run.train.threads, std::nullopt);
}

TEST(Setting, RangesAreInclusiveWhereTheySaySo) {
    EXPECT_EQ(problemWith("train", "threads", std::int64_t{1}), "no error");
    EXPECT_EQ(problemWith("train", "threads", std::int64_t{1024}), "no error");
    EXPECT_EQ(problemWith("train", "threads", std::int64_t{0}), "threads = 0: allowed is 1 … 1024");
    EXPECT_EQ(problemWith("train", "threads", std::int64_t{1025}),
              "threads = 1025: allowed is 1 … 1024");
    EXPECT_EQ(problemWith("train", "batch", std::int64_t{-3}).substr(0, 23),
              "batch = -3: allowed is ");
    EXPECT_EQ(problemWith("train", "learning_rate", 0.0), "no error");
    EXPECT_EQ(problemWith("train", "learning_rate", -1e-9),
              "learning_rate = -1e-09: allowed is ≥ 0");
    EXPECT_EQ(problemWith("train", "epochs", 0.0), "epochs = 0: allowed is > 0");
    EXPECT_EQ(problemWith("train", "epochs", 1e-6), "no error");
}

TEST(Setting, NonFiniteNumbersAreRefused) {
    for (const double number : {std::nan(""), std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(problemWith("train", "learning_rate", number),
                  fmt::format("learning_rate = {}: allowed is a finite number, ≥ 0", number));
        EXPECT_HAS(problemWith("data", "mean", std::vector<double>{number}), ": allowed is a finite number");
        EXPECT_HAS(problemWith("train", "betas", std::vector<double>{0.9, number}), "betas = ");
    }
    for (const char* text : {"nan", "inf", "-inf", "1e999"})
        EXPECT_HAS(messageOf<StudyError>([&] { parseValue(spec("train", "learning_rate"), text); }),
                   "learning_rate = ");
}

TEST(Setting, NumbersInListsAreChecked) {
    EXPECT_EQ(problemWith("data", "shape", std::vector<std::int64_t>{3, 32, 32}), "no error");
    EXPECT_HAS(problemWith("data", "shape", std::vector<std::int64_t>{3, 0, 32}),
               "shape = 0: allowed is 1 … 65536");
    EXPECT_HAS(problemWith("train", "betas", std::vector<double>{0.9, 1.5}),
               "betas = 1.5: allowed is 0 … 1");
}

TEST(Setting, WrongTypesAreNamed) {
    EXPECT_EQ(problemWith("train", "batch", 16.0), "batch = 16: expected an integer");
    EXPECT_EQ(problemWith("train", "batch", std::string("many")),
              "batch = many: expected an integer");
    EXPECT_EQ(problemWith("train", "learning_rate", std::int64_t{1}),
              "learning_rate = 1: expected a number");
    EXPECT_EQ(problemWith("train", "loss", true), "loss = true: expected text");
    EXPECT_EQ(problemWith("data", "shape", std::vector<double>{1, 2, 3}),
              "shape = 1x2x3: expected a list of integers");
    EXPECT_EQ(problemWith("train", "betas", std::int64_t{1}),
              "betas = 1: expected a list of numbers");
    EXPECT_EQ(problemWith("train", "batch", {}), "batch = unset: expected an integer");
}

TEST(Setting, ChoicesListWhatIsAllowedAndGuess) {
    EXPECT_EQ(
        problemWith("train", "optimizer", std::string("adamm")),
        "optimizer = \"adamm\" is not known, did you mean \"adam\"?; allowed: sgd, adam, adamw");
    EXPECT_EQ(problemWith("train", "optimizer", std::string("lbfgs-newton")),
              "optimizer = \"lbfgs-newton\" is not known; allowed: sgd, adam, adamw");
    EXPECT_HAS(problemWith("train", "dtype", std::string("flaot64")), "did you mean \"float64\"?");
    EXPECT_HAS(problemWith("train", "optimizer", std::string("")), "allowed: sgd, adam, adamw");
}

TEST(Setting, TypedTextMustBeWhole) {
    const SettingSpec& batch = spec("train", "batch");
    EXPECT_EQ(parseValue(batch, "32"), SettingValue(std::int64_t{32}));
    for (const char* text : {"", "12a", " 12", "12 ", "1.5", "1e3", "0x10", "99999999999999999999"})
        EXPECT_HAS(messageOf<StudyError>([&] { parseValue(batch, text); }), "batch = ")
            << '"' << text << '"';
    EXPECT_EQ(parseValue(spec("train", "learning_rate"), "1"), SettingValue(1.0));
    EXPECT_EQ(parseValue(spec("train", "learning_rate"), "1e-3"), SettingValue(1e-3));
    EXPECT_EQ(parseValue(spec("data", "shape"), "3x32x16"),
              SettingValue(std::vector<std::int64_t>{3, 32, 16}));
    for (const char* text : {"", "3x", "x3", "3x32x", "3xx2", "3,2"})
        EXPECT_HAS(messageOf<StudyError>([&] { parseValue(spec("data", "shape"), text); }),
                   "expected a list of integers")
            << text;
}

TEST(Setting, AxesHaveShortNames) {
    EXPECT_EQ(spec("train", "batch").axisKey(), "batch");
    EXPECT_EQ(spec("data", "limit").axisKey(), "limit");
    // train's where several sections have the key
    EXPECT_EQ(spec("train", "seed").axisKey(), "seed");
    EXPECT_EQ(spec("data", "seed").axisKey(), "data.seed");
    for (const SettingSpec& each : settingSpecs())
        if (each.canBeAxis) {
            EXPECT_EQ(&settingOfAxis(each.axisKey()), &each);
            EXPECT_EQ(&settingOfAxis(std::string(each.section) + "." + std::string(each.key)),
                      &each);
        }
}

TEST(Setting, UnknownAxesAreNamedWithAGuess) {
    const auto problem = [](const char* key) {
        return messageOf<StudyError>([&] { settingOfAxis(key); });
    };
    EXPECT_HAS(problem("acumulation"),
               "unknown axis \"acumulation\", did you mean \"accumulation\"?; axes: ");
    EXPECT_HAS(problem("thread"), "did you mean \"threads\"?");
    EXPECT_HAS(problem("data.limti"), "unknown axis \"data.limti\"");
    EXPECT_HAS(problem(""), "unknown axis \"\"");
    EXPECT_HAS(problem("every"), "every cannot be an axis");
    EXPECT_HAS(problem("record.weights"), "weights cannot be an axis");
    // what cannot be an axis is not offered as one
    EXPECT_FALSE(test::contains(problem("zzzzzzzz"), "gradients"));
}

TEST(Setting, DidYouMeanTakesTheNearest) {
    const std::vector<std::string_view> words{"batch", "betas", "seed"};
    EXPECT_EQ(didYouMean("bacth", words), ", did you mean \"batch\"?");
    EXPECT_EQ(didYouMean("beta", words), ", did you mean \"betas\"?");
    EXPECT_EQ(didYouMean("momentum", words), "");
    EXPECT_EQ(didYouMean("seed", {}), "");
}

} // namespace
} // namespace driftscope
