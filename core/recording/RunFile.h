// SPDX-License-Identifier: GPL-3.0-or-later
// What the writer and the reader of a run file agree on: names, states, sizes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace driftscope {

/// A file that can't be written or read; the message names it.
struct RecordingError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Values are those of /progress. A run whose process died without a word still says Running in its
/// file; RunReader::state tells that apart.
enum class RunState : std::int64_t { Running = 0, Finished = 1, Failed = 2, Cancelled = 3, Unavailable = 4 };

constexpr std::string_view nameOf(RunState state) {
    switch (state) {
    case RunState::Running: return "running";
    case RunState::Finished: return "finished";
    case RunState::Failed: return "failed";
    case RunState::Cancelled: return "cancelled";
    case RunState::Unavailable: return "unavailable";
    }
    return "unknown";
}

struct RunProgress {
    std::int64_t rows = 0; ///< rows that are complete in the file
    RunState state = RunState::Running;
};

inline constexpr std::string_view runFormat = "driftscope.run";
inline constexpr int runFormatVersion = 1;
inline constexpr std::size_t messageBytes = 1024;

/// The datasets of /scalars, in the order of RunRow::scalars.
inline constexpr std::string_view scalarNames[] = {"loss", "accuracy", "grad_norm_sq", "learning_rate",
                                                   "step_seconds"};
enum Scalar { Loss, Accuracy, GradNormSq, LearningRate, StepSeconds, ScalarCount };

} // namespace driftscope
