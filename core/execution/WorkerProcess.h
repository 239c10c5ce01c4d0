// SPDX-License-Identifier: GPL-3.0-or-later
// Starts one worker process, hands its events on, and waits for its end.
#pragma once

#include "execution/WorkerProtocol.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

namespace driftscope {

/// How a worker is started and how long it may take.
struct WorkerLaunch {
    std::filesystem::path worker;
    std::filesystem::path log; ///< takes its stderr
    std::chrono::seconds timeLimit{0}; ///< 0: none; a run that takes longer has failed
    std::optional<RunConfig> reference{}; ///< trained beside it, for a request whose stream compares with it
};

/// Runs the worker on this thread until it ends. `onEvent` sees started and stepped events; the end is
/// returned, also that of a process that crashed or was killed. A stop request asks the worker to stop
/// (SIGTERM) and kills it if it does not within ten seconds. Throws ExecutionError if the worker can't be
/// started.
WorkerEnded runWorker(const WorkerLaunch& launch, WorkerRequest request, std::stop_token stop,
                      const std::function<void(const WorkerEvent&)>& onEvent);

/// Has a worker read the data of these runs, in order, as far as it gets: the first problem is the last answer. Fewer
/// answers after a stop request, or from a worker that crashed. Throws ExecutionError if it can't be started.
std::vector<DataFound> readData(const std::filesystem::path& worker, std::span<const RunConfig> runs,
                                std::stop_token stop);

/// driftscope-worker beside the running program, or what DRIFTSCOPE_WORKER names. Throws ExecutionError.
std::filesystem::path findWorker();

/// The environment fingerprint (JSON) as a worker with these settings sees it. Throws ExecutionError.
std::string probeWorker(const std::filesystem::path& worker);

} // namespace driftscope
