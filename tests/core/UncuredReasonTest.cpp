// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/UncuredReason.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

using Axes = std::vector<std::string>;

struct Pair {
    RunConfig run = test::tinyConfig("run"), reference = test::tinyConfig("reference");
    [[nodiscard]] UncuredReason why(const std::vector<std::string>& refusals = {}) const {
        return whyUncured(run, reference, refusals);
    }
};

TEST(UncuredReason, AnotherSeed) {
    Pair pair;
    pair.run.train.seed = 7;
    EXPECT_EQ(pair.why().axes, Axes{"seed"});
    EXPECT_HAS(pair.why().text, "seed (42 → 7): another seed");
}

TEST(UncuredReason, BatchStatistics) {
    Pair pair;
    pair.run.train.accumulation = 2;
    pair.run.model.batchNorm = pair.reference.model.batchNorm = true;
    EXPECT_EQ(pair.why().axes, Axes{"accumulation"});
    EXPECT_HAS(pair.why({"canonical accumulator is not available: x"}).text, "no cure by arithmetic: batch statistics");
    EXPECT_HAS(pair.why({"canonical accumulator is not available: x"}).text, "not available: x");
    // a module of others says it when it runs
    Pair module;
    module.run.train.accumulation = 2;
    EXPECT_HAS(module.why({"the batch statistics of bn1.running_mean need the others"}).text, "no cure by arithmetic");
}

TEST(UncuredReason, LossScaling) {
    Pair pair;
    pair.run.train.lossNormalization = "none";
    EXPECT_HAS(pair.why().text, "another loss scaling");
    pair.reference.train.lossNormalization = "none";
    pair.run.train.accumulation = 2;
    for (RunConfig* run : {&pair.run, &pair.reference})
        run->train.accumulator = "canonical";
    EXPECT_EQ(pair.why().axes, Axes{"accumulation"});
    EXPECT_HAS(pair.why().text, "grows with the number of micro-batches");
}

TEST(UncuredReason, WhatNoLongerMattersIsNotNamed) {
    Pair pair;
    pair.run.train.seed = 7;
    pair.run.train.accumulation = 2;
    for (RunConfig* run : {&pair.run, &pair.reference})
        run->train.accumulator = "canonical";
    pair.run.train.loaderWorkers = 3; // nothing is augmented
    pair.run.train.steps = 5;
    pair.run.train.repeat = 2;
    pair.run.record.every = 2;
    pair.run.train.betas = {0.1, 0.2}; // of adam
    EXPECT_EQ(pair.why().axes, Axes{"seed"});
    pair.run.train.seed = 42;
    EXPECT_TRUE(pair.why().axes.empty());
    EXPECT_HAS(pair.why().text, "not repeatable");
}

TEST(UncuredReason, SeveralAreAllNamed) {
    Pair pair;
    pair.run.train.dtype = "float64";
    pair.run.train.optimizer = "adam";
    pair.run.data.seed = 3;
    EXPECT_EQ(pair.why().axes, (Axes{"data.seed", "dtype", "optimizer"}));
    for (const char* part : {"data.seed (0 → 3): other data", "dtype (float32 → float64): another number format",
                             "optimizer (sgd → adam): another update rule"})
        EXPECT_HAS(pair.why().text, part);
}

} // namespace
} // namespace driftscope
