// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Explanation.h"
#include "support/Files.h"
#include "support/HandMadeTrace.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace driftscope {
namespace {

using test::HandMadeTrace;

class ExplanationTest : public ::testing::Test {
protected:
    ExplanationTest() {
        for (HandMadeTrace* side : {&a, &b}) {
            side->trace.step = 3;
            side->trace.sampleIds = {1, 2};
            side->trace.parts = {{0, 2}};
        }
    }
    /// A gradient that differs by one place.
    void differInGradient() {
        a.add(Phase::Gradient, "fc1.weight", {1, 2});
        b.add(Phase::Gradient, "fc1.weight", {1, std::nextafter(2.0F, 3.0F)});
    }
    Explanation explained() {
        const TraceReader left = a.finished(), right = b.finished();
        return explainTraces(left, right);
    }

    test::TemporaryFolder folder;
    HandMadeTrace a{folder / "a"}, b{folder / "b"};
};

TEST_F(ExplanationTest, TheFirstPhaseInOrderIsNamed) {
    differInGradient();
    a.add(Phase::Weights, "fc1.weight", {1});
    b.add(Phase::Weights, "fc1.weight", {2});
    const Explanation explanation = explained();
    EXPECT_EQ(explanation.step, 3);
    EXPECT_EQ(explanation.phase, "gradient");
    EXPECT_EQ(explanation.tensor, "fc1.weight");
    EXPECT_FALSE(explanation.isBySample);
    EXPECT_EQ(explanation.phases.size(), phaseCount);
    EXPECT_HAS(whatHappened(explanation), "step 3, phase gradient, first in fc1.weight (1 ULP at most, 50 %");
}

TEST_F(ExplanationTest, TheInnermostOperatorIsTheFirst) {
    differInGradient();
    // linear calls addmm, which ends first; the sum behind them was given something else already
    for (HandMadeTrace* side : {&a, &b}) {
        const float value = side == &a ? 1 : 2;
        side->addOperator("aten::linear", {{5}, {6}}, {value}, 0, 1).phase = Phase::Backward;
        TracedOperator& inner = side->addOperator("aten::addmm", {{5}, {6}}, {value, 3}, 1, 0);
        inner.phase = Phase::Backward;
        inner.module = "fc1";
        side->addOperator("aten::sum", {{value}}, {value}, 0, 2);
    }
    const Explanation explanation = explained();
    ASSERT_TRUE(explanation.op);
    EXPECT_EQ(explanation.op->name, "aten::addmm");
    EXPECT_EQ(explanation.op->module, "fc1");
    EXPECT_EQ(explanation.op->position, 1U);
    EXPECT_EQ(explanation.op->operators, 3U);
    EXPECT_EQ(explanation.op->inputs, 2U);
    EXPECT_EQ(explanation.op->shape, (std::vector<std::uint64_t>{2}));
    EXPECT_TRUE(std::isnan(explanation.op->distance.ulpMax));
    EXPECT_HAS(whatHappened(explanation), "aten::addmm (fc1, backward): given identical inputs, its output 1 (2) differs");
    EXPECT_HAS(whatItSays(explanation), "leave the operator itself");
}

TEST_F(ExplanationTest, AnOperatorOnMemoryThatWasNotWrittenIsNotBlamed) {
    differInGradient();
    for (HandMadeTrace* side : {&a, &b}) {
        const float value = side == &a ? 1 : 2;
        side->addOperator("aten::sum", {{}}, {value}, 1, 0);
        side->addOperator("aten::mean", {{7}}, {value}, 0, 1);
    }
    const Explanation explanation = explained();
    ASSERT_TRUE(explanation.op);
    EXPECT_EQ(explanation.op->name, "aten::mean");
}

TEST_F(ExplanationTest, OtherSequencesOfOperatorsAreSaid) {
    differInGradient();
    a.addOperator("aten::add", {{1}}, {1}, 0, 0);
    a.addOperator("aten::mul", {{1}}, {1}, 0, 1);
    b.addOperator("aten::add", {{1}}, {1}, 0, 0);
    b.addOperator("aten::div", {{1}}, {2}, 0, 1);
    const Explanation explanation = explained();
    EXPECT_FALSE(explanation.op);
    EXPECT_HAS(explanation.whyNoOperator, "number 2 is aten::mul in A and aten::div in B");
}

TEST_F(ExplanationTest, AnOperatorBehindTheFirstDifferenceIsNotItsCause) {
    a.addSamples(Phase::Forward, "fc1", 0, 2, {1, 2});
    b.addSamples(Phase::Forward, "fc1", 0, 2, {1, 3});
    for (HandMadeTrace* side : {&a, &b})
        side->addOperator("aten::mm", {{7}}, {side == &a ? 1.0F : 2.0F}, 0, 0).phase = Phase::Update;
    const Explanation explanation = explained();
    EXPECT_EQ(explanation.phase, "forward");
    EXPECT_FALSE(explanation.op);
    EXPECT_HAS(explanation.whyNoOperator, "no operator was seen");
}

TEST_F(ExplanationTest, OtherNumbersAreNoRounding) {
    a.add(Phase::Update, "w/exp_avg", {1});
    b.add(Phase::Update, "w/exp_avg", {2});
    for (HandMadeTrace* side : {&a, &b}) {
        TracedOperator& op = side->addOperator("aten::add", {{7}}, {side == &a ? 1.0F : 2.0F}, 0, 0);
        op.phase = Phase::Update;
        op.arguments = side == &a ? "alpha=0.1" : "alpha=0.2";
    }
    const Explanation explanation = explained();
    ASSERT_TRUE(explanation.op);
    EXPECT_TRUE(explanation.op->hasOtherArguments());
    EXPECT_HAS(whatItSays(explanation), "given other numbers, alpha=0.1 in A and alpha=0.2 in B");
}

TEST_F(ExplanationTest, RandomNumbersAreNamed) {
    a.addSamples(Phase::Forward, "fc1.dropout", 0, 2, {1, 2});
    b.addSamples(Phase::Forward, "fc1.dropout", 0, 2, {1, 0});
    for (HandMadeTrace* side : {&a, &b})
        side->addOperator("aten::bernoulli_", {}, {side == &a ? 1.0F : 0.0F}, 0, 0);
    b.trace.generator = {1, 1};
    const Explanation explanation = explained();
    ASSERT_TRUE(explanation.op);
    EXPECT_TRUE(explanation.op->isRandom());
    EXPECT_HAS(whatItSays(explanation), "It draws random numbers");
    ASSERT_EQ(explanation.notes.size(), 1U);
    EXPECT_HAS(explanation.notes[0], "default random generator");
}

TEST_F(ExplanationTest, OtherBatchesComeBeforeAnyOperator) {
    b.trace.sampleIds = {1, 9};
    for (HandMadeTrace* side : {&a, &b})
        side->addOperator("aten::bernoulli_", {}, {side == &a ? 1.0F : 0.0F}, 0, 0);
    const Explanation explanation = explained();
    EXPECT_EQ(explanation.phase, "batch");
    EXPECT_EQ(explanation.tensor, "sample_ids");
    EXPECT_FALSE(explanation.op);
    EXPECT_HAS(whatItSays(explanation), "1 of A's 2 samples are not among B's 2");
}

TEST_F(ExplanationTest, WithOtherMicroBatchesTheForwardStateIsSaid) {
    differInGradient();
    b.trace.parts = {{0, 1}, {1, 1}};
    a.addSamples(Phase::Forward, "fc1", 0, 2, {1, 2});
    b.addSamples(Phase::Forward, "fc1", 0, 1, {1});
    b.addSamples(Phase::Forward, "fc1", 1, 1, {2});
    Explanation explanation = explained();
    explanation.settings = {"train.accumulation: 1 → 2"};
    EXPECT_TRUE(explanation.isBySample);
    EXPECT_EQ(forwardState(explanation), "identical in all 2 samples, module by module");
    EXPECT_HAS(whatHappened(explanation), "forward: identical in all 2 samples");
    EXPECT_HAS(whatItSays(explanation), "order in which the samples' gradients are summed");
    EXPECT_HAS(whatItSays(explanation), "train.accumulation: 1 → 2");
}

TEST_F(ExplanationTest, BatchStatisticsAreNoRounding) {
    b.trace.parts = {{0, 1}, {1, 1}};
    a.addSamples(Phase::Forward, "bn1", 0, 2, {1, 2});
    b.addSamples(Phase::Forward, "bn1", 0, 1, {1.01F});
    b.addSamples(Phase::Forward, "bn1", 1, 1, {2});
    EXPECT_HAS(whatItSays(explained()), "too large for rounding");
}

TEST_F(ExplanationTest, OtherTypesAreNamed) {
    a.add(Phase::Weights, "w", {1});
    b.add(Phase::Weights, "w", {1}).dtype = "int32";
    EXPECT_HAS(whatItSays(explained()), "They are of other types there, float32 → int32");
}

TEST_F(ExplanationTest, AModulesOwnErrorIsApartFromWhatItInherits) {
    const float one = std::nextafter(1.0F, 2.0F);
    HandMadeTrace fed(folder / "replay");
    fed.trace = a.trace;
    a.addSamples(Phase::Forward, "fc1", 0, 2, {1, 1});
    b.addSamples(Phase::Forward, "fc1", 0, 2, {1, one});
    fed.addSamples(Phase::Forward, "fc1", 0, 2, {1, one});
    a.addSamples(Phase::Forward, "fc2", 0, 2, {4, 4});
    b.addSamples(Phase::Forward, "fc2", 0, 2, {4, std::nextafter(4.0F, 5.0F)});
    fed.addSamples(Phase::Forward, "fc2", 0, 2, {4, 4});
    const TraceReader left = a.finished(), right = b.finished(), replay = fed.finished();
    const std::vector<ReplayedModule> modules = compareReplay(left, right, replay);
    ASSERT_EQ(modules.size(), 2U);
    EXPECT_EQ(modules[0].module, "fc1");
    EXPECT_EQ(modules[0].own.differingSamples, 1);
    EXPECT_EQ(modules[0].own.distance.ulpMax, 1);
    EXPECT_TRUE(modules[1].own.isIdentical);
    EXPECT_FALSE(modules[1].whole.isIdentical);
    EXPECT_EQ(modules[1].whole.distance.changed, 0.5);
}

TEST_F(ExplanationTest, AnOperatorIsMeasuredFromItsKeptOutput) {
    OperatorDifference op;
    op.name = "aten::mm";
    a.addOperator("aten::mm", {}, {1, 2}, 0, 0);
    b.addOperator("aten::mm", {}, {1, std::nextafter(2.0F, 3.0F)}, 0, 0);
    {
        const TraceReader left = a.finished(), right = b.finished();
        EXPECT_TRUE(measureOperator(op, left, right));
        EXPECT_EQ(op.distance.ulpMax, 1);
        EXPECT_EQ(op.distance.changed, 0.5);
        EXPECT_FALSE(measureOperator(op, left, left)); // no other bits
        op.position = 1;
        EXPECT_FALSE(measureOperator(op, left, right));
    }
}

TEST(ExplanationTexts, IdenticalRunsNeedNone) {
    Explanation explanation;
    explanation.isIdentical = true;
    EXPECT_HAS(whatHappened(explanation), "equal bits at every step");
    EXPECT_EQ(forwardState(explanation), "not compared");
}

} // namespace
} // namespace driftscope
