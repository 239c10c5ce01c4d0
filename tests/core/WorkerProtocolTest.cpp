// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/WorkerProtocol.h"
#include "execution/WorkerEnvironment.h"
#include "support/Files.h"
#include "support/RunFiles.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <map>

namespace driftscope {
namespace {

using test::messageOf;
using Json = nlohmann::json;

TEST(WorkerProtocol, RequestsSurviveTheLine) {
    for (const char* file : {"/runs/a b/\"x\".h5", "", "/ünï/漢字.h5"}) {
        const WorkerRequest request{test::tinyConfig("id", 5), file};
        const std::string line = toLine(request);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        const WorkerRequest back = parseRequest(line);
        EXPECT_EQ(back.file, request.file);
        EXPECT_EQ(toJson(back.config), toJson(request.config));
    }
}

TEST(WorkerProtocol, StreamsAndTrialsSurviveTheLine) {
    for (const StreamUse use : {StreamUse::None, StreamUse::Compare, StreamUse::Feed}) {
        const WorkerRequest request{test::tinyConfig("id", 5), "run.h5", "reference.h5", use, 12, 7};
        const WorkerRequest back = parseRequest(toLine(request));
        EXPECT_EQ(back.stream, use);
        EXPECT_EQ(back.referenceFile, "reference.h5");
        EXPECT_EQ(back.streamDescriptor, 12);
        EXPECT_EQ(back.trialSteps, 7);
    }
}

TEST(WorkerProtocol, TracesSurviveTheLine) {
    WorkerRequest request{test::tinyConfig("id", 5), ""};
    EXPECT_FALSE(parseRequest(toLine(request)).trace);
    request.trace = {"a.trace", 3, true, 17, "b.trace", {5, 9}, 4096};
    const WorkerRequest back = parseRequest(toLine(request));
    ASSERT_TRUE(back.trace);
    EXPECT_EQ(back.trace->file, "a.trace");
    EXPECT_EQ(back.trace->step, 3);
    EXPECT_TRUE(back.trace->hasOperators);
    EXPECT_EQ(back.trace->keptOperator, 17);
    EXPECT_EQ(back.trace->replayOf, "b.trace");
    EXPECT_EQ(back.trace->onlySamples, (std::vector<std::int64_t>{5, 9}));
    EXPECT_EQ(back.trace->limitBytes, 4096U);
}

TEST(WorkerProtocol, RequestsThatAreNoneAreOneError) {
    for (const char* line :
         {"", "{", "null", "[]", "{}", "3", "{\"run\":{}}", "{\"file\":\"x\"}", "\xff\xfe"}) {
        try {
            parseRequest(line);
            ADD_FAILURE() << line;
        } catch (const ExecutionError&) {
        } catch (const StudyError&) { // what the run itself lacks
        }
    }
    Json json = Json::parse(toLine(WorkerRequest{test::tinyConfig(), "x"}));
    json["file"] = 3;
    EXPECT_HAS(messageOf<ExecutionError>([&] { parseRequest(json.dump()); }),
               "the worker's request is not understood");
    json["file"] = "x";
    json["run"]["train"]["batch"] = 0;
    EXPECT_HAS(messageOf<StudyError>([&] { parseRequest(json.dump()); }), "batch = 0");
}

TEST(WorkerProtocol, LinesAreAsDocumented) {
    EXPECT_EQ(Json::parse(toLine(WorkerEvent(WorkerStarted{100, 2, 4096}))),
              Json::parse(R"({"event":"started","steps":100,"threads":2,"recorded_bytes":4096})"));
    EXPECT_EQ(Json::parse(toLine(WorkerEvent(WorkerStepped{12, 0.25}))),
              Json::parse(R"({"event":"step","step":12,"loss":0.25})"));
    EXPECT_EQ(Json::parse(toLine(WorkerEvent(WorkerEnded{RunState::Finished, "m", 1.5, 77}))),
              Json::parse(R"({"event":"finished","message":"m","seconds":1.5,"peak_memory":77})"));
}

TEST(WorkerProtocol, EventsSurviveTheLine) {
    const auto started =
        std::get<WorkerStarted>(parseEvent(toLine(WorkerEvent(WorkerStarted{7, 3}))));
    EXPECT_EQ(started.steps, 7);
    EXPECT_EQ(started.threads, 3);
    const auto stepped =
        std::get<WorkerStepped>(parseEvent(toLine(WorkerEvent(WorkerStepped{9, 0.1}))));
    EXPECT_EQ(stepped.step, 9);
    EXPECT_EQ(stepped.loss, 0.1);
    for (const RunState state :
         {RunState::Finished, RunState::Failed, RunState::Cancelled, RunState::Unavailable}) {
        const WorkerEnded ended{state, "line\nbreak \"quote\" ünï", 1.5, 1 << 30};
        const std::string line = toLine(WorkerEvent(ended));
        EXPECT_EQ(line.find('\n'), std::string::npos);
        const auto back = std::get<WorkerEnded>(parseEvent(line));
        EXPECT_EQ(back.state, state);
        EXPECT_EQ(back.message, ended.message);
        EXPECT_EQ(back.trainingSeconds, 1.5);
        EXPECT_EQ(back.peakMemoryBytes, 1 << 30);
    }
}

TEST(WorkerProtocol, LossesThatAreNoNumbersArrive) {
    for (const double loss : {std::nan(""), HUGE_VAL, -HUGE_VAL})
        EXPECT_TRUE(std::isnan(
            std::get<WorkerStepped>(parseEvent(toLine(WorkerEvent(WorkerStepped{1, loss})))).loss));
}

TEST(WorkerProtocol, BrokenUtf8InAMessageIsReplaced) {
    const auto back = std::get<WorkerEnded>(
        parseEvent(toLine(WorkerEvent(WorkerEnded{RunState::Failed, "bad \xff byte", 0, 0}))));
    EXPECT_EQ(back.message, "bad \xEF\xBF\xBD byte");
}

// File names on Linux are bytes.
TEST(WorkerProtocol, BrokenUtf8InAFileNameIsAnExecutionErrorOrArrives) {
    const WorkerRequest request{test::tinyConfig(), "/runs/bad \xff byte.h5"};
    try {
        EXPECT_EQ(parseRequest(toLine(request)).file, request.file);
    } catch (const ExecutionError&) {
    }
}

TEST(WorkerProtocol, EventsThatAreNoneAreExecutionErrors) {
    for (const char* line :
         {"", "x", "{}", "[]", "null", "{\"event\":3}", "{\"event\":\"step\"}",
          "{\"event\":\"step\",\"step\":\"a\",\"loss\":1}", "{\"event\":\"started\",\"steps\":1}",
          "{\"event\":\"finished\"}", "{\"event\":\"step\",\"step\":1,\"loss\":0}x"})
        EXPECT_HAS(messageOf<ExecutionError>([&] { parseEvent(line); }),
                   "the worker's event is not understood")
            << line;
    EXPECT_HAS(messageOf<ExecutionError>([&] { parseEvent(R"({"event":"running"})"); }),
               "\"running\" is not known");
}

std::map<std::string, std::string> environment(const TrainConfig& config) {
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : workerEnvironment(config))
        EXPECT_TRUE(result.emplace(name, value).second) << name << " is set twice";
    return result;
}

TEST(WorkerEnvironment, WhatNoSettingNamesIsInherited) {
    const auto variables = environment(TrainConfig{});
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                             "ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE"})
        EXPECT_FALSE(variables.contains(name)) << name;
}

TEST(WorkerEnvironment, ThreadsAreAskedOfEveryLibrary) {
    TrainConfig config;
    config.threads = 3;
    auto variables = environment(config);
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
        EXPECT_EQ(variables[name], "3") << name;
    EXPECT_EQ(variables["OMP_DYNAMIC"], "false");
}

TEST(WorkerEnvironment, InstructionSetsAreNamedAsEachLibraryNamesThem) {
    // as documented by ATen, oneDNN and OpenBLAS
    const std::map<std::string, std::array<std::string, 3>> names{
        {"default", {"default", "SSE41", "Nehalem"}},
        {"avx2", {"avx2", "AVX2", "Haswell"}},
        {"avx512", {"avx512", "AVX512_CORE", "SkylakeX"}}};
    for (const auto& [isa, wanted] : names) {
        TrainConfig config;
        config.cpuIsa = isa;
        auto variables = environment(config);
        EXPECT_EQ(variables["ATEN_CPU_CAPABILITY"], wanted[0]);
        EXPECT_EQ(variables["ONEDNN_MAX_CPU_ISA"], wanted[1]);
        EXPECT_EQ(variables["DNNL_MAX_CPU_ISA"], wanted[1]);
        EXPECT_EQ(variables["OPENBLAS_CORETYPE"], wanted[2]);
        EXPECT_FALSE(variables.contains("OMP_NUM_THREADS"));
    }
}

TEST(WorkerEnvironment, HowThreadsWaitIsTheUsersIfTheySay) {
    ::unsetenv("OMP_WAIT_POLICY");
    EXPECT_EQ(environment(TrainConfig{})["OMP_WAIT_POLICY"], "passive");
    ::setenv("OMP_WAIT_POLICY", "active", 1);
    EXPECT_FALSE(environment(TrainConfig{}).contains("OMP_WAIT_POLICY"));
    ::unsetenv("OMP_WAIT_POLICY");
}

TEST(WorkerProtocol, RequestsToReadDataComeBack) {
    RunConfig other = test::tinyConfig("other");
    other.data.limit = 3;
    const std::vector<RunConfig> runs{test::tinyConfig("one"), other};
    const std::string line = toLine(std::span<const RunConfig>(runs));
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const std::vector<RunConfig> back = parseDataRequest(line);
    ASSERT_EQ(back.size(), 2U);
    EXPECT_EQ(toJson(back[0]), toJson(runs[0]));
    EXPECT_EQ(toJson(back[1]), toJson(runs[1]));
    for (const char* text : {"", "{}", "[]", "{\"runs\":3}"})
        EXPECT_THROW(parseDataRequest(text), ExecutionError) << text;
}

TEST(WorkerProtocol, WhatWasFoundOfDataComesBack) {
    EXPECT_EQ(parseDataFound(toLine(DataFound{60000})).samples, 60000);
    const DataFound bad = parseDataFound(toLine(DataFound{0, "a \"b\".npz:\nlabel −1 \xff"}));
    EXPECT_EQ(bad.problem, "a \"b\".npz:\nlabel −1 \xEF\xBF\xBD");
    EXPECT_EQ(toLine(bad).find('\n'), std::string::npos);
    for (const char* text : {"", "{}", "{\"samples\":\"x\",\"problem\":\"\"}"})
        EXPECT_THROW(parseDataFound(text), ExecutionError) << text;
}

} // namespace
} // namespace driftscope
