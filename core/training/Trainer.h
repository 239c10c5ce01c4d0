// SPDX-License-Identifier: GPL-3.0-or-later
// Trains one run as configured and records it. One process trains one run: LibTorch's settings are the
// process's.
#pragma once

#include "recording/RunFile.h"
#include "recording/Trace.h"
#include "study/RunConfig.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace driftscope {

/// What a training tells whoever started it. All called on the trainer's thread.
struct TrainingObserver {
    std::function<void(std::int64_t steps, int threads, std::uint64_t recordedBytes)> started;
    std::function<void(std::int64_t step, double loss)> stepped;
    std::function<bool()> isStopped; ///< asked before each step; true ends the run as cancelled
};

/// Where a training's weights go.
struct TrainingOutput {
    std::filesystem::path file;          ///< run file, which must not exist; empty: none is written
    std::filesystem::path referenceFile; ///< [record] weights = "metrics": the recording of the reference
    int referenceStream = -1;            ///< and a stream of its weights, trained again; −1: none
    std::int64_t trialSteps = 0;         ///< ends after so many steps, or a second; 0: all
    int stream = -1;                     ///< a stream for another run to compare with; −1: none
    std::optional<TraceRequest> trace{}; ///< traces one step, with which the training ends
};

/// Applies the settings, trains, and records. Returns Finished or Cancelled. Throws Unavailable, and for
/// everything else that goes wrong a std::exception; what was recorded until then stays, with the message.
RunState train(const RunConfig& config, const TrainingOutput& output, const TrainingObserver& observer);

} // namespace driftscope
