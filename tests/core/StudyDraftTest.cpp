// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/StudyDraft.h"

#include "study/ValueRanges.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

const std::string rest = "[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n[train]\nsteps = 2\n";

std::vector<std::string> texts(const std::vector<SettingValue>& values) {
    std::vector<std::string> result;
    for (const SettingValue& value : values)
        result.push_back(toText(value));
    return result;
}
using Texts = std::vector<std::string>;

TEST(StudyDraft, ARightStudyIsParsedAndExpanded) {
    const StudyDraft draft = readDraft("[study]\nname = \"n\"\nreference = { threads = 2 }\ngroups = [\"seed\"]\n" + rest +
                                           "[axes]\nthreads = [1, 2]\nseed = [1, 2, 3]\n[full]\nsteps = 9\n",
                                       "/x.toml");
    ASSERT_FALSE(draft.problem);
    EXPECT_EQ(draft.runs.size(), 6U);
    EXPECT_EQ(draft.name, "n");
    ASSERT_EQ(draft.axes.size(), 2U);
    EXPECT_EQ(draft.axes[0].reference, "2");
    EXPECT_FALSE(draft.axes[0].isGroup);
    EXPECT_TRUE(draft.axes[1].isGroup);
    ASSERT_EQ(draft.full.size(), 1U);
    EXPECT_EQ(toText(draft.full[0].values[0].value), "9");
    EXPECT_EQ(draft.setting(settingNamed("train.steps"))->line, 9);
    EXPECT_EQ(draft.setting(settingNamed("batch")), nullptr);
}

TEST(StudyDraft, WhatIsRightIsThereBesideWhatIsWrong) {
    const StudyDraft draft = readDraft("[train]\nsteps = \"many\"\nbatch = 8\n[axes]\nthreads = [1, 0]\n", "/dir/x.toml");
    ASSERT_TRUE(draft.problem);
    EXPECT_EQ(draft.problem->line, 2);
    EXPECT_EQ(draft.problemSetting(), &settingNamed("train.steps"));
    EXPECT_EQ(draft.base.train.batch, 8);
    EXPECT_NE(draft.setting(settingNamed("train.steps"))->value.problem, "");
    ASSERT_EQ(draft.axes.size(), 1U);
    EXPECT_EQ(draft.axes[0].values[0].problem, "");
    EXPECT_NE(draft.axes[0].values[1].problem, "");
    EXPECT_EQ(draft.name, "x");
    EXPECT_FALSE(draft.study);
}

TEST(StudyDraft, TextThatIsNoTomlSaysWhere) {
    const StudyDraft draft = readDraft("[train]\nsteps = = 2\n", "/x.toml");
    EXPECT_FALSE(draft.isToml);
    ASSERT_TRUE(draft.problem);
    EXPECT_EQ(draft.problem->line, 2);
    EXPECT_TRUE(draft.settings.empty());
}

TEST(StudyDraft, SettingsWithoutAPlaceAreNamed) {
    const StudyDraft draft = readDraft("[model]\nkind = \"mlp\"\n" + rest, "/x.toml");
    const auto has = [&](const char* name) { return !draft.inapplicable.contains(&settingNamed(name)); };
    for (const char* name : {"hidden", "batch_norm", "dropout", "samples", "momentum", "epochs", "train.steps", "threads"})
        EXPECT_TRUE(has(name)) << name;
    for (const char* name : {"heads", "model.path", "targets", "betas", "context", "head_seed", "order_seed"})
        EXPECT_FALSE(has(name)) << name;
    EXPECT_TRUE(readDraft("[model]\nkind = \"mlp\"\n" + rest + "[axes]\noptimizer = [\"sgd\", \"adam\"]\n", "/x.toml")
                    .inapplicable.count(&settingNamed("betas")) == 0)
        << "some run has it";
}

TEST(ValueRanges, ListsRangesAndFactors) {
    const SettingSpec& threads = settingNamed("threads");
    EXPECT_EQ(texts(parseValues(threads, "1, 2,8")), (Texts{"1", "2", "8"}));
    EXPECT_EQ(texts(parseValues(threads, "2..4, 9")), (Texts{"2", "3", "4", "9"}));
    EXPECT_EQ(texts(parseValues(threads, "1..16 x2")), (Texts{"1", "2", "4", "8", "16"}));
    EXPECT_EQ(texts(parseValues(threads, "1..10 by 4")), (Texts{"1", "5", "9"}));
    EXPECT_EQ(texts(parseValues(settingNamed("dropout"), "0.1..0.3 by 0.1")), (Texts{"0.1", "0.2", "0.3"}));
    EXPECT_EQ(texts(parseValues(settingNamed("learning_rate"), "1e-4..1e-2 x10")), (Texts{"0.0001", "0.001", "0.01"}));
    EXPECT_EQ(texts(parseValues(settingNamed("shape"), "1x2x2, 3x4x4")), (Texts{"1x2x2", "3x4x4"}));
    EXPECT_EQ(texts(parseValues(settingNamed("blas"), "../lib.so")), (Texts{"../lib.so"}));
    for (const char* wrong : {"", "0..4", "4..1", "1..4 by 0", "1..4 x1", "a..b", "1..2000", "1,,2"})
        EXPECT_THROW(parseValues(threads, wrong), StudyError) << wrong;
}

} // namespace
} // namespace driftscope
