// SPDX-License-Identifier: GPL-3.0-or-later
// Trains two recorded runs again, up to the first step in which they differ, and traces that step in both: what
// analysis/Explanation needs. Runs one worker at a time, on the calling thread.
#pragma once

#include "analysis/Explanation.h"
#include "recording/RunReader.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace driftscope {

struct ExplainOptions {
    std::filesystem::path worker;
    std::filesystem::path folder; ///< an empty one for run files, traces and logs; the caller removes it
    std::function<void(const std::string& text)> say{}; ///< what is under way
};

/// B against A. None if a stop was asked for. Where a run can't be trained here, says so in the notes and gives what
/// the files alone tell. Throws RecordingError, also if a file holds no configuration to train from.
std::optional<Explanation> explain(const RunReader& a, const RunReader& b, const ExplainOptions& options,
                                   std::stop_token stop);

} // namespace driftscope
