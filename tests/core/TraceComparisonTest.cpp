// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/TraceComparison.h"
#include "support/Files.h"
#include "support/HandMadeTrace.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace driftscope {
namespace {

using test::HandMadeTrace;

/// The float32 number that many places above.
float above(float x, int places) {
    for (int i = 0; i < places; ++i)
        x = std::nextafter(x, HUGE_VALF);
    return x;
}

class TraceComparison : public ::testing::Test {
protected:
    PhaseComparison compare(Phase phase) {
        const TraceReader left = a.finished(), right = b.finished();
        return comparePhase(left, right, phase);
    }

    test::TemporaryFolder folder;
    HandMadeTrace a{folder / "a"}, b{folder / "b"};
};

TEST_F(TraceComparison, DistancesAreThoseOfTheValues) {
    a.add(Phase::Weights, "w", {1, 2, 3, 4});
    b.add(Phase::Weights, "w", {1, above(2, 1), 3, above(4, 3)});
    a.add(Phase::Weights, "same", {1, 2});
    b.add(Phase::Weights, "same", {1, 2});
    const PhaseComparison phase = compare(Phase::Weights);
    ASSERT_EQ(phase.tensors.size(), 2U);
    const TensorComparison& w = phase.tensors[0];
    EXPECT_FALSE(w.isIdentical);
    EXPECT_EQ(w.distance.changed, 0.5);
    EXPECT_EQ(w.distance.ulpMax, 3);
    // the distances are 2⁻²² and 3 · 2⁻²¹: √(1 + 36) · 2⁻²² beside √30
    EXPECT_NEAR(w.distance.relativeL2, std::sqrt(37.0) * 0x1p-22 / std::sqrt(30.0), 1e-15);
    EXPECT_EQ(w.distance.maxAbsolute, 3 * 0x1p-21);
    EXPECT_EQ(w.factor, 1);
    EXPECT_TRUE(phase.tensors[1].isIdentical);
    EXPECT_EQ(phase.firstDifference(), &phase.tensors[0]);
    EXPECT_EQ(phase.differingTensors(), 1);
    EXPECT_NEAR(phase.changed(), 2.0 / 6, 1e-15);
    EXPECT_EQ(phase.ulpMax(), 3);
}

TEST_F(TraceComparison, SamplesAreAlignedByTheirIdsWhateverTheirOrderAndParts) {
    a.trace.sampleIds = {5, 6, 7, 8};
    b.trace.sampleIds = {8, 7, 6, 5};
    a.addSamples(Phase::Forward, "fc1", 0, 4, {50, 51, 60, 61, 70, 71, 80, 81});
    b.addSamples(Phase::Forward, "fc1", 0, 2, {80, 81, above(70, 2), 71});
    b.addSamples(Phase::Forward, "fc1", 2, 2, {60, 61, 50, 51});
    const PhaseComparison phase = compare(Phase::Forward);
    ASSERT_EQ(phase.tensors.size(), 1U);
    EXPECT_EQ(phase.tensors[0].samples, 4);
    EXPECT_EQ(phase.tensors[0].differingSamples, 1);
    EXPECT_EQ(phase.tensors[0].distance.ulpMax, 2);
    EXPECT_EQ(phase.tensors[0].distance.changed, 1.0 / 8);
}

TEST_F(TraceComparison, SamplesThatOnlyOneHasAreLeftOut) {
    a.trace.sampleIds = {1, 2, 3};
    b.trace.sampleIds = {2, 3, 4};
    a.addSamples(Phase::Batch, "inputs", 0, 3, {10, 20, 30});
    b.addSamples(Phase::Batch, "inputs", 0, 3, {20, 30, 40});
    const PhaseComparison phase = compare(Phase::Batch);
    ASSERT_EQ(phase.tensors.size(), 2U);
    EXPECT_EQ(phase.tensors[0].name, "sample_ids");
    EXPECT_FALSE(phase.tensors[0].isIdentical);
    EXPECT_TRUE(phase.tensors[1].isIdentical);
    EXPECT_EQ(phase.tensors[1].samples, 2);
    EXPECT_HAS(phase.note, "1 of A's 3 samples are not among B's 3");
    EXPECT_EQ(phase.ulpMax(), 0); // ids have no distance
}

TEST_F(TraceComparison, AnotherOrderOfTheSameSamplesIsNamedSo) {
    a.trace.sampleIds = {1, 2};
    b.trace.sampleIds = {2, 1};
    a.addSamples(Phase::Batch, "inputs", 0, 2, {10, 20});
    b.addSamples(Phase::Batch, "inputs", 0, 2, {20, 10});
    const PhaseComparison phase = compare(Phase::Batch);
    EXPECT_FALSE(phase.isIdentical());
    EXPECT_TRUE(phase.tensors[1].isIdentical);
    EXPECT_EQ(phase.note, "the same samples in another order");
}

TEST_F(TraceComparison, AnExactPowerOfTwoIsFound) {
    a.trace.sampleIds = b.trace.sampleIds = {1, 2};
    a.addSamples(Phase::Backward, "fc2", 0, 2, {0, 1.5F, -0.1F, 0});
    b.addSamples(Phase::Backward, "fc2", 0, 2, {0, 3, -0.2F, 0});
    a.addSamples(Phase::Backward, "fc1", 0, 2, {1, 1, 1, 1});
    b.addSamples(Phase::Backward, "fc1", 0, 2, {2, 2, 2, 2});
    const PhaseComparison phase = compare(Phase::Backward);
    EXPECT_EQ(phase.tensors[0].factor, 2);
    EXPECT_EQ(phase.factor(), 2);
    EXPECT_FALSE(phase.isIdentical());
}

TEST(ExactFactor, OnlyPowersOfTwoThatHoldForEveryElement) {
    const auto factor = [](const std::vector<float>& a, const std::vector<float>& b) {
        const auto bytes = [](const std::vector<float>& values) {
            std::vector<std::byte> out(values.size() * sizeof(float));
            std::memcpy(out.data(), values.data(), out.size());
            return out;
        };
        return exactFactor("float32", bytes(a), bytes(b));
    };
    EXPECT_EQ(factor({1, -3}, {0.25F, -0.75F}), 0.25);
    EXPECT_EQ(factor({1, -3}, {-2, 6}), -2);
    EXPECT_EQ(factor({1, 3}, {3, 9}), 1);              // 3 is none
    EXPECT_EQ(factor({1, 3}, {2, above(6, 1)}), 1);    // not exact
    EXPECT_EQ(factor({1, 3}, {1, 3}), 1);
    EXPECT_EQ(factor({0, 0}, {0, 0}), 1);
    EXPECT_EQ(factor({0, 1}, {0.5F, 2}), 1);           // zero became something
    EXPECT_EQ(factor({1, NAN}, {2, NAN}), 1);
    EXPECT_EQ(factor({1}, {INFINITY}), 1);
}

TEST_F(TraceComparison, WhatASampleCountsInTheLossIsCompared) {
    a.trace.sampleIds = {1, 2};
    b.trace.sampleIds = {2, 1};
    a.addSamples(Phase::Loss, "sample_loss", 0, 2, {0.5F, 0.75F});
    b.addSamples(Phase::Loss, "sample_loss", 0, 2, {0.75F, 0.5F});
    a.trace.sampleWeights = {1.0 / 12, 1.0 / 12};
    b.trace.sampleWeights = {1.0 / 4, 1.0 / 4};
    const PhaseComparison phase = compare(Phase::Loss);
    ASSERT_EQ(phase.tensors.size(), 2U);
    EXPECT_TRUE(phase.tensors[0].isIdentical);
    EXPECT_EQ(phase.tensors[1].name, "sample_weight");
    EXPECT_EQ(phase.tensors[1].differingSamples, 2);
    EXPECT_NEAR(phase.tensors[1].factor, 3, 1e-9);
}

TEST_F(TraceComparison, QuotientsOfTheSameWeightAreEqual) {
    a.trace.sampleIds = b.trace.sampleIds = {1, 2, 3};
    a.addSamples(Phase::Loss, "sample_loss", 0, 3, {1, 2, 3});
    b.addSamples(Phase::Loss, "sample_loss", 0, 3, {1, 2, 3});
    a.trace.sampleWeights.assign(3, 1.0 / 3 / 7);
    b.trace.sampleWeights.assign(3, 1.0 / 7 / 3);
    EXPECT_TRUE(compare(Phase::Loss).isIdentical());
}

TEST_F(TraceComparison, MeansOverOtherMicroBatchesAreNotCompared) {
    a.add(Phase::Loss, "mean", {0.5F});
    b.add(Phase::Loss, "mean", {0.25F});
    b.add(Phase::Loss, "mean", {0.75F}).first = 1;
    EXPECT_TRUE(compare(Phase::Loss).tensors.empty());
}

TEST_F(TraceComparison, OutputsWithoutSamplesAreComparedOnce) {
    a.add(Phase::Forward, "position_embedding", {1, 2});
    b.add(Phase::Forward, "position_embedding", {1, 2});
    b.add(Phase::Forward, "position_embedding", {1, 2}).first = 1;
    const PhaseComparison phase = compare(Phase::Forward);
    ASSERT_EQ(phase.tensors.size(), 1U);
    EXPECT_TRUE(phase.isIdentical());
    EXPECT_EQ(phase.tensors[0].samples, 0);
}

TEST_F(TraceComparison, WhatOnlyOneHasDiffers) {
    a.add(Phase::Update, "w/momentum_buffer", {1});
    b.add(Phase::Update, "w/exp_avg", {1});
    const PhaseComparison phase = compare(Phase::Update);
    ASSERT_EQ(phase.tensors.size(), 2U);
    EXPECT_EQ(phase.tensors[0].onlyIn, "A");
    EXPECT_EQ(phase.tensors[1].onlyIn, "B");
    EXPECT_EQ(phase.differingTensors(), 2);
}

TEST_F(TraceComparison, GradientsComeInTheOrderOfTheBackwardPass) {
    for (HandMadeTrace* side : {&a, &b}) {
        side->trace.sampleIds = {1};
        side->addSamples(Phase::Backward, "fc2", 0, 1, {1});
        side->addSamples(Phase::Backward, "fc1", 0, 1, {1});
        for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"})
            side->add(Phase::Gradient, name, {1});
    }
    std::vector<std::string> names;
    for (const TensorComparison& tensor : compare(Phase::Gradient).tensors)
        names.push_back(tensor.name);
    EXPECT_EQ(names, (std::vector<std::string>{"fc2.weight", "fc2.bias", "fc1.weight", "fc1.bias"}));
}

TEST(TraceComparisonWithoutValues, SaysThatItDoesNotKnow) {
    const test::TemporaryFolder folder;
    HandMadeTrace a(folder / "a", 0), b(folder / "b", 0);
    a.add(Phase::Weights, "w", {1});
    b.add(Phase::Weights, "w", {2});
    const TraceReader left = a.finished(), right = b.finished();
    const PhaseComparison phase = comparePhase(left, right, Phase::Weights);
    EXPECT_FALSE(phase.isIdentical());
    EXPECT_TRUE(std::isnan(phase.ulpMax()));
    EXPECT_TRUE(std::isnan(phase.changed()));
    EXPECT_HAS(phase.note, "not all values were kept");
}

} // namespace
} // namespace driftscope
