// SPDX-License-Identifier: GPL-3.0-or-later
// What a run manager and its worker processes say to each other: a JSON line in, JSON lines out.
#pragma once

#include "recording/RunFile.h"
#include "recording/Trace.h"
#include "study/RunConfig.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace driftscope {

enum class StreamUse {
    None,
    Compare, ///< reads the reference's weights from it
    Feed,    ///< writes its own into it, for another run to compare with
};

struct WorkerRequest {
    RunConfig config;
    std::filesystem::path file; ///< run file to write; empty: train without recording
    std::filesystem::path referenceFile{}; ///< StreamUse::Compare: the recording of the reference
    StreamUse stream = StreamUse::None;
    int streamDescriptor = -1; ///< of the worker: recording/RowStream
    std::int64_t trialSteps = 0; ///< to end after so many steps, to see how long they take; 0: all
    std::optional<TraceRequest> trace{}; ///< to trace one step, and end with it
};

struct WorkerStarted {
    std::int64_t steps = 0;
    int threads = 0; ///< what the run really got
    std::uint64_t recordedBytes = 0; ///< size of the run file, without its metadata
};
struct WorkerStepped {
    std::int64_t step = 0;
    double loss = 0;
};
struct WorkerEnded {
    RunState state = RunState::Failed;
    std::string message;
    double trainingSeconds = 0; ///< from the first step on; without the start of the process
    std::int64_t peakMemoryBytes = 0;
};
using WorkerEvent = std::variant<WorkerStarted, WorkerStepped, WorkerEnded>;

/// What a worker found of a run's data.
struct DataFound {
    std::int64_t samples = 0;
    std::string problem{}; ///< what is wrong with them, or ""
};

/// One line each, without the line's end. Throws ExecutionError for a file name that is no UTF-8.
std::string toLine(const WorkerRequest& request);
std::string toLine(const WorkerEvent& event);

/// Throw ExecutionError on anything else, StudyError for a configuration that is not allowed.
WorkerRequest parseRequest(std::string_view line);
WorkerEvent parseEvent(std::string_view line);

/// The same for a worker that only reads the data of these runs.
std::string toLine(std::span<const RunConfig> runs);
std::string toLine(const DataFound& found);
std::vector<RunConfig> parseDataRequest(std::string_view line);
DataFound parseDataFound(std::string_view line);

struct ExecutionError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

} // namespace driftscope
