// SPDX-License-Identifier: GPL-3.0-or-later
// Settings that are allowed one by one and contradict each other: what validate() refuses, and what it does not.
#include "study/Study.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>

#include <sstream>

namespace driftscope {
namespace {

using test::messageOf;

struct Case {
    const char* settings; ///< key=value, with spaces between; the rest is the tiny configuration of synthetic images
    const char* words;    ///< decisive ones of the message, or "no error"
};

class Validate : public ::testing::TestWithParam<Case> {};

TEST_P(Validate, SaysWhatContradicts) {
    RunConfig run = test::tinyConfig();
    std::istringstream settings(GetParam().settings);
    for (std::string each; settings >> each;) {
        const std::size_t equals = each.find('=');
        const SettingSpec& spec = settingNamed(each.substr(0, equals));
        spec.set(run, parseValue(spec, each.substr(equals + 1)));
    }
    EXPECT_HAS(messageOf<StudyError>([&] { validate(run); }), GetParam().words) << GetParam().settings;
}

constexpr Case models[] = {
    {"model.kind=torchscript", "\"torchscript\" needs a path: the file that torch.jit.save wrote"},
    {"model.kind=torchscript model.path=/m.pt", "no error"},
    {"batch_norm=true", "no error"},
    {"model.kind=mlp batch_norm=true dropout=0.5", "no error"},
    {"model.kind=resnet18 batch_norm=true", "batch_norm is for mlp and cifar_cnn; resnet18 has it anyway"},
    {"model.kind=resnet50 batch_norm=true", "resnet50 has it anyway"},
    {"model.kind=vit_tiny batch_norm=true", "vit_tiny has no place for it"},
    {"model.kind=resnet18 dropout=0.1", "dropout: resnet18 has no place for it"},
    {"model.kind=torchscript model.path=/m.pt dropout=0.1", "dropout: torchscript has no place"},
    {"model.kind=vit_tiny dropout=0.1 projection=8", "no error"},
    {"projection_norm=true", "are for a projection head: give projection"},
    {"head_seed=0", "are for a projection head: give projection"},
    {"projection=8 projection_norm=true head_seed=0", "no error"},
    {"model.kind=torchscript model.path=/m.pt projection=8", "projection: torchscript has no place for a projection"},
    {"model.kind=transformer kind=text path=/t.txt projection=8", "projection: transformer has no place"},
    {"model.kind=transformer kind=text path=/t.txt width=30 heads=4", "width = 30 is no multiple of heads = 4"},
    {"width=30 heads=4", "no error"}, // which nothing but the transformer reads
    {"model.kind=transformer kind=text path=/t.txt dropout=0.1", "no error"},
    {"model.kind=torchscript model.path=/m.pt kind=text path=/t.txt", "no error"},
    {"model.kind=transformer", "data kind \"synthetic\" does not go with model kind \"transformer\": the transformer"},
    {"kind=text path=/t.txt", "data kind \"text\" does not go with model kind \"cifar_cnn\""},
};
INSTANTIATE_TEST_SUITE_P(Models, Validate, ::testing::ValuesIn(models));

constexpr Case data[] = {
    {"kind=npy", "data kind \"npy\" needs a path: the file"},
    {"kind=safetensors", "data kind \"safetensors\" needs a path: the file"},
    {"kind=text model.kind=transformer", "data kind \"text\" needs a path: the file"},
    {"kind=cifar100", "data kind \"cifar100\" needs a path: the folder with its files"},
    {"kind=fashion-mnist", "no error"},
    {"kind=npy path=/x.npy targets=/y.npy", "no error"},
    {"kind=safetensors path=/x targets=/y.npy", "targets is for data kind \"npy\", not \"safetensors\""},
    {"mean=0.5", "mean has 1 numbers, std has 0: allowed is one of each per channel"},
    {"std=0.5x0.5", "mean has 0 numbers, std has 2"},
    {"mean=0.5 std=0.5", "no error"},
    {"random_crop=4 random_flip=true", "no error"},
    {"kind=text path=/t.txt model.kind=transformer random_crop=1", "are for images, not for text"},
    {"kind=text path=/t.txt model.kind=transformer random_flip=true", "are for images, not for text"},
    {"kind=text path=/t.txt model.kind=transformer mean=0.5 std=0.5", "are for images, not for text"},
};
INSTANTIATE_TEST_SUITE_P(Data, Validate, ::testing::ValuesIn(data));

constexpr Case training[] = {
    {"label_smoothing=0.1", "no error"},
    {"label_smoothing=0.1 loss=mse", "label_smoothing is for loss = \"cross_entropy\", not \"mse\""},
    {"autocast=true", "no error"},
    {"autocast=true dtype=bfloat16", "autocast = true is for dtype = \"float32\", not \"bfloat16\""},
    {"tf32=emulated", "no error"},
    {"tf32=emulated device=cuda:0", "tf32 = \"emulated\" is for device = \"cpu\""},
    {"tf32=emulated dtype=float64", "tf32 = \"emulated\" is for device = \"cpu\" and dtype = \"float32\""},
    {"tf32=emulated autocast=true", "without autocast"},
    {"tf32=on device=cuda:0", "no error"},
    {"accumulator=canonical", "no error"},
    {"accumulator=canonical batch_norm=true", "the batch statistics of batch_norm need the others"},
    {"accumulator=canonical model.kind=resnet18", "each sample by itself; the batch statistics of resnet18 need"},
    {"accumulator=canonical model.kind=resnet50", "the batch statistics of resnet50 need the others"},
    {"accumulator=kahan model.kind=resnet18", "no error"},
    {"record.steps=0x1x5", "no error"},
    {"record.steps=log", "no error"},
    {"record.steps=1x5x4", "[record] steps = 1x5x4: they must rise"},
    {"record.steps=2x2", "[record] steps = 2x2: they must rise"},
};
INSTANTIATE_TEST_SUITE_P(Training, Validate, ::testing::ValuesIn(training));

// The worker validates what it gets: a twin must not keep what float64 contradicts.
TEST(ValidateTwins, WhateverThePrecisionOfTheRun) {
    const Study study = parseStudy("[study]\ntwin = \"float64\"\n[data]\nkind = \"synthetic\"\nshape = [1, 4, 4]\n"
                                   "[train]\nsteps = 3\n[axes]\nautocast = [false, true]\ntf32 = [\"off\", \"on\"]\n",
                                   "/somewhere/s.toml");
    Study emulated = study;
    applyOverride(emulated, "autocast=false");
    applyOverride(emulated, "tf32=emulated,off");
    for (const Study& each : {study, emulated})
        for (const RunConfig& run : expand(each)) {
            EXPECT_EQ(messageOf<StudyError>([&] { runConfigFromJson(toJson(run)); }), "no error") << run.id;
            EXPECT_EQ(run.isTwin, run.train.dtype == "float64");
            if (run.isTwin) {
                EXPECT_FALSE(run.train.autocast);
                EXPECT_EQ(run.train.tf32, "off");
            }
        }
}

} // namespace
} // namespace driftscope
