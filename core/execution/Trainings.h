// SPDX-License-Identifier: GPL-3.0-or-later
// Trains configurations that belong to no study's folder, as worker processes, for the bits they give.
#pragma once

#include "recording/RunDigests.h"
#include "study/RunConfig.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

/// What became of a training.
struct Trained {
    RunDigests digests;              ///< of every step
    std::vector<double> stepSeconds; ///< of every step but the first, which is slower
    std::string problem{};           ///< why there is nothing; "" if it finished
};

class Trainings {
public:
    /// Recordings go to `folder` and are removed as soon as they are read. At most `cores` threads work at once.
    Trainings(std::filesystem::path folder, std::filesystem::path worker, int cores);

    /// Called on the caller's thread for every training that ended by itself; false stops the others.
    using OnEnd = std::function<bool(std::size_t position, Trained trained)>;

    /// Trains all, at most `jobs` at once, recording the digests of every step and nothing else, and returns when all
    /// have ended or were stopped, by onEnd or by the token. Throws ExecutionError or RecordingError.
    void run(std::vector<RunConfig> configs, int jobs, const OnEnd& onEnd, const std::stop_token& stop);

    /// Trainings that have finished.
    [[nodiscard]] std::int64_t finished() const { return m_finished; }

private:
    [[nodiscard]] Trained readBack(const std::filesystem::path& recording) const;

    std::filesystem::path m_folder, m_worker;
    int m_cores;
    std::int64_t m_started = 0, m_finished = 0;
};

} // namespace driftscope
