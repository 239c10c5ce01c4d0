// SPDX-License-Identifier: GPL-3.0-or-later
// The judge on facts written out by hand. The one error it must never make: rounding for something else.
#include "analysis/Judge.h"

#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace driftscope {
namespace {

/// A pair that differs from the gradient of step 1 on, with the same samples, and twins if asked for.
struct Pair {
    RunConfig run = test::tinyConfig(), reference = test::tinyConfig();
    RunComparison comparison = distances({0, 1e-8, 2e-8, 4e-8});
    RecordedEvidence recorded = gradients(1e-7);
    RunComparison twins = distances({0, 1e-17, 2e-17, 4e-17});
    RecordedEvidence recordedTwins = gradients(2e-16);
    bool hasTwins = true, areSettingsKnown = true;
    PairFacts facts{};

    Pair() { run.train.accumulation = 2; }

    static RunComparison distances(const std::vector<double>& relative) {
        RunComparison comparison;
        comparison.scopes = {{ScopeKind::Model, ""}, {ScopeKind::Layer, "fc"}, {ScopeKind::Tensor, "fc.weight"}};
        for (auto& values : comparison.values)
            values.assign(relative.size() * 3, 0);
        for (std::size_t i = 0; i < relative.size(); ++i) {
            comparison.steps.push_back(static_cast<std::int64_t>(i));
            for (std::size_t scope = 0; scope < 3; ++scope)
                comparison.values[static_cast<std::size_t>(Metric::RelativeL2)][i * 3 + scope] = relative[i];
        }
        comparison.first = FirstDivergence{.step = 1, .phase = "gradient", .tensor = "fc.weight"};
        return comparison;
    }
    static RecordedEvidence gradients(double relative, double factor = 1) {
        RecordedEvidence evidence;
        evidence.rows.push_back({.step = 0});
        for (std::int64_t step = 1; step <= 3; ++step)
            evidence.rows.push_back({.step = step,
                                     .samples = SampleSets::Same,
                                     .differsInGradient = true,
                                     .gradient = GradientEvidence{.relative = relative, .factor = factor}});
        return evidence;
    }

    Verdict judged() {
        facts.comparison = &comparison;
        facts.recorded = &recorded;
        if (hasTwins) {
            facts.twins = &twins;
            facts.recordedTwins = &recordedTwins;
        }
        if (areSettingsKnown) {
            facts.run = &run;
            facts.reference = &reference;
        }
        return judge(facts);
    }
};

const Evidence* find(const Verdict& verdict, std::string_view name) {
    const auto found = std::ranges::find(verdict.evidence, name, &Evidence::name);
    return found == verdict.evidence.end() ? nullptr : &*found;
}

TEST(Judge, RoundingWhereTheTwinsShrink) {
    const Verdict verdict = Pair().judged();
    EXPECT_EQ(verdict.kind, "rounding");
    ASSERT_TRUE(find(verdict, "twins"));
    EXPECT_NEAR(find(verdict, "twins")->value, 2e-9, 1e-15);
    EXPECT_EQ(find(verdict, "twins")->threshold, 0x1p-20);
    EXPECT_EQ(find(verdict, "size")->says, "rounding");
}

TEST(Judge, AnotherFunctionWhereTheTwinsStay) {
    Pair pair;
    pair.twins = pair.comparison;
    pair.recordedTwins = pair.recorded;
    EXPECT_EQ(pair.judged().kind, "algorithmic");
}

TEST(Judge, NeitherWhereTheTwinsShrinkALittle) {
    Pair pair;
    pair.recordedTwins = Pair::gradients(1e-7 * 0x1p-14);
    EXPECT_EQ(pair.judged().kind, "inconclusive");
}

// The twins see another function at step 3, behind rounding from step 1 on.
TEST(Judge, ALaterEventIsNoRounding) {
    Pair pair;
    pair.comparison = Pair::distances({0, 1e-8, 2e-8, 1e-3});
    pair.twins = Pair::distances({0, 1e-17, 2e-17, 1e-3});
    EXPECT_EQ(pair.judged().kind, "algorithmic");
}

// A faulty kernel: too large for rounding, whatever the twins say.
TEST(Judge, TooLargeForRounding) {
    Pair pair;
    pair.recorded = Pair::gradients(0.01);
    pair.comparison = Pair::distances({0, 1e-3, 1e-3, 1e-3});
    EXPECT_EQ(pair.judged().kind, "inconclusive");
    pair.hasTwins = false;
    pair.facts = {};
    EXPECT_EQ(pair.judged().kind, "inconclusive");
}

TEST(Judge, AFactorIsAlgorithmicWithTwinsAndWithout) {
    for (const bool hasTwins : {true, false}) {
        Pair pair;
        pair.recorded = pair.recordedTwins = Pair::gradients(3, 4);
        pair.comparison = pair.twins = Pair::distances({0, 1e-3, 1e-3, 1e-3});
        pair.hasTwins = hasTwins;
        const Verdict verdict = pair.judged();
        EXPECT_EQ(verdict.kind, "algorithmic");
        ASSERT_TRUE(find(verdict, "factor"));
        EXPECT_EQ(find(verdict, "factor")->value, 4);
    }
}

TEST(Judge, SamplesAndTheirValues) {
    Pair pair;
    pair.twins = pair.comparison;
    pair.recordedTwins = pair.recorded;
    pair.recorded.rows[3].samples = SampleSets::Other;
    EXPECT_EQ(pair.judged().kind, "data");
    pair.recorded.rows[3].samples = SampleSets::Reordered; // that alone is no other data
    EXPECT_EQ(pair.judged().kind, "algorithmic");
    pair.recorded.rows[3].samples = SampleSets::Same;
    pair.recorded.rows[3].haveOtherBatches = true;
    EXPECT_EQ(pair.judged().kind, "data");
}

// Other samples, and yet the twins shrink: that contradicts itself.
TEST(Judge, ConflictsAreInconclusive) {
    Pair pair;
    pair.recorded.rows[2].samples = SampleSets::Other;
    EXPECT_EQ(pair.judged().kind, "inconclusive");
}

TEST(Judge, SeedsAndDraws) {
    Pair pair;
    pair.run.train.seed = 7;
    pair.comparison = Pair::distances({1.4, 1.4, 1.4, 1.4});
    pair.comparison.first = FirstDivergence{.step = 0, .phase = "init", .tensor = "fc.weight"};
    EXPECT_EQ(pair.judged().kind, "random");
    pair.areSettingsKnown = false; // the initial weights say it by themselves
    pair.facts = {};
    EXPECT_EQ(pair.judged().kind, "random");

    Pair masks;
    masks.twins = masks.comparison;
    masks.recordedTwins = masks.recorded;
    for (EvidenceRow& row : masks.recorded.rows)
        row.drawsRandomly = true;
    EXPECT_EQ(masks.judged().kind, "random");
}

TEST(Judge, BatchStatistics) {
    Pair pair;
    pair.run.model.batchNorm = pair.reference.model.batchNorm = true;
    pair.twins = pair.comparison;
    pair.recordedTwins = pair.recorded;
    const Verdict verdict = pair.judged();
    EXPECT_EQ(verdict.kind, "algorithmic");
    EXPECT_HAS(verdict.summary, "BatchNorm");
}

TEST(Judge, PrecisionUnlessSomethingElseDiffersToo) {
    Pair pair;
    pair.run = pair.reference;
    pair.run.train.dtype = "bfloat16";
    pair.twins.first.reset();
    EXPECT_EQ(pair.judged().kind, "precision");
    pair.run.train.lossNormalization = "none";
    pair.twins = Pair::distances({0, 1e-3, 1e-3, 1e-3});
    pair.recordedTwins = Pair::gradients(3, 4);
    EXPECT_EQ(pair.judged().kind, "algorithmic");
}

TEST(Judge, RepeatsThatDifferSayRunToRun) {
    Pair pair;
    pair.facts.repeats = 1;
    pair.facts.doRepeatsDiffer = true;
    EXPECT_EQ(pair.judged().kind, "run-to-run");
    Pair same;
    same.run = same.reference;
    EXPECT_EQ(same.judged().kind, "run-to-run");
}

TEST(Judge, WithoutTwinsTheSizeAloneSaysSo) {
    Pair pair;
    pair.hasTwins = false;
    const Verdict verdict = pair.judged();
    EXPECT_EQ(verdict.kind, "rounding");
    EXPECT_HAS(verdict.summary, "size");
    EXPECT_HAS(verdict.summary, "--twins");
    pair.recorded = Pair::gradients(1e-5); // more than summation makes
    EXPECT_EQ(pair.judged().kind, "inconclusive");
    pair.recorded = Pair::gradients(1e-7);
    pair.run.train.lossNormalization = "micro_batch"; // may be another function
    EXPECT_EQ(pair.judged().kind, "inconclusive");
}

TEST(Judge, FilesOfOthersAreJudgedByWhatTheyHold) {
    Pair pair;
    pair.hasTwins = pair.areSettingsKnown = false;
    EXPECT_EQ(pair.judged().kind, "rounding");
    pair.recorded = {};
    EXPECT_EQ(pair.judged().kind, "inconclusive");
}

// The same sizes in float64 are no rounding.
TEST(Judge, TheTypeDecidesWhatIsSmall) {
    Pair pair;
    pair.hasTwins = pair.areSettingsKnown = false;
    pair.facts.epsilon = 0x1p-52;
    EXPECT_EQ(pair.judged().kind, "inconclusive");
    pair.recorded = Pair::gradients(2e-16);
    EXPECT_EQ(pair.judged().kind, "rounding");
}

// So small a difference that the twins shrink all the same.
TEST(Judge, AnotherRecipeIsNeverRounding) {
    Pair pair;
    pair.run.train.weightDecay = 1e-16;
    EXPECT_EQ(pair.judged().kind, "algorithmic");
    // the mean of equal micro-batches' means is the batch's mean
    pair.run.train.weightDecay = 0;
    pair.run.train.lossNormalization = "micro_batch";
    EXPECT_EQ(pair.judged().kind, "rounding");
}

TEST(Judge, InitialWeightsRoundedOtherwise) {
    Pair pair;
    pair.run = pair.reference;
    pair.run.train.cpuIsa = "default";
    pair.comparison = pair.twins = Pair::distances({1e-8, 1e-8, 1e-8, 1e-8});
    pair.comparison.first = pair.twins.first = FirstDivergence{.step = 0, .phase = "init", .tensor = "fc.weight"};
    EXPECT_EQ(pair.judged().kind, "rounding");
    pair.run.train.tail = "unscaled"; // may be another function, and the twins can't tell
    EXPECT_NE(pair.judged().kind, "rounding");
}

} // namespace
} // namespace driftscope
