// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Trace.h"
#include "recording/RunFile.h"
#include "support/Files.h"
#include "support/HandMadeTrace.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <cstring>

namespace driftscope {
namespace {

using test::HandMadeTrace;
using test::messageOf;

std::vector<float> floats(const std::vector<std::byte>& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

TEST(Trace, AllOfItSurvivesTheFile) {
    const test::TemporaryFolder folder;
    HandMadeTrace made(folder / "a.trace");
    made.trace.step = 7;
    made.trace.sampleIds = {30, 10, 20};
    made.trace.sampleWeights = {0.5, 0.25, 1.0 / 3};
    made.trace.parts = {{0, 2}, {2, 1}};
    made.trace.generator = {0xFFFFFFFFFFFFFFFF, 1};
    made.add(Phase::Init, "fc1.weight", {1, 2, 3});
    made.addSamples(Phase::Forward, "fc1", 0, 2, {1, 2, 3, 4});
    made.addSamples(Phase::Forward, "fc1", 2, 1, {5, 6});
    TracedOperator& op = made.addOperator("aten::mm", {{1, 2}, {}}, {3}, 2, 5);
    op.phase = Phase::Backward;
    op.module = "fc1";
    op.arguments = "alpha=1";

    const TraceReader reader = made.finished();
    const Trace& back = reader.trace();
    EXPECT_EQ(back.step, 7);
    EXPECT_EQ(back.sampleIds, made.trace.sampleIds);
    EXPECT_EQ(back.sampleWeights, made.trace.sampleWeights);
    EXPECT_EQ(back.parts, made.trace.parts);
    EXPECT_EQ(back.generator, made.trace.generator);
    EXPECT_EQ(back.phases, made.trace.phases);
    EXPECT_EQ(back.operators, made.trace.operators);
    EXPECT_EQ(back.omittedBytes, 0U);
    EXPECT_EQ(floats(reader.values(back.of(Phase::Init)[0])), (std::vector<float>{1, 2, 3}));
    EXPECT_EQ(floats(reader.sampleValues(back.of(Phase::Forward)[0], 1)), (std::vector<float>{3, 4}));
    EXPECT_EQ(floats(reader.sampleValues(back.of(Phase::Forward)[1], 0)), (std::vector<float>{5, 6}));
}

TEST(Trace, WhatFindsNoRoomIsCountedAndNotKept) {
    const test::TemporaryFolder folder;
    TraceWriter writer(folder / "a.trace", 16); // 8 bytes for each kind
    const std::vector<std::byte> values(6);
    EXPECT_EQ(writer.keep(values, true), 0);
    EXPECT_EQ(writer.keep(values, true), -1);
    EXPECT_EQ(writer.keep(values, false), 6);
    writer.finish({});
    EXPECT_EQ(TraceReader(folder / "a.trace").trace().omittedBytes, 6U);
}

TEST(Trace, FilesThatAreNoneAreOneError) {
    const test::TemporaryFolder folder;
    EXPECT_HAS(messageOf<RecordingError>([&] { TraceReader(folder / "none"); }), "no such trace");
    test::writeFile(folder / "bad.values", "");
    for (const char* text : {"", "{", "{}", "[]", "{\"step\":\"x\"}"}) {
        test::writeFile(folder / "bad", text);
        EXPECT_HAS(messageOf<RecordingError>([&] { TraceReader(folder / "bad"); }), "not a trace") << text;
    }
    HandMadeTrace made(folder / "cut");
    made.add(Phase::Init, "w", {1, 2, 3});
    made.finished();
    std::filesystem::resize_file(folder / "cut.values", 4);
    const TraceReader cut(folder / "cut");
    EXPECT_HAS(messageOf<RecordingError>([&] { (void)cut.values(cut.trace().of(Phase::Init)[0]); }),
               "its values end at 4 bytes");
}

TEST(Trace, ValuesThatWereNotKeptAreAnError) {
    const test::TemporaryFolder folder;
    HandMadeTrace made(folder / "a", 0);
    made.addSamples(Phase::Forward, "fc1", 0, 1, {1});
    const TraceReader reader = made.finished();
    const TracedTensor& tensor = reader.trace().of(Phase::Forward)[0];
    EXPECT_FALSE(tensor.isKept());
    EXPECT_HAS(messageOf<RecordingError>([&] { (void)reader.values(tensor); }), "were not kept");
    EXPECT_HAS(messageOf<RecordingError>([&] { (void)reader.sampleValues(tensor, 0); }), "were not kept");
}

} // namespace
} // namespace driftscope
