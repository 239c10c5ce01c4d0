// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a study's trainings as worker processes, as many at once as the cores allow, on threads of its
// own. Other threads read what changed through changes().
#pragma once

#include "recording/RunFile.h"
#include "recording/StudyFolder.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace driftscope {

struct RunStatus {
    std::size_t run = 0;           ///< position in StudyFolder::runs
    std::optional<RunState> state; ///< none: waiting
    std::int64_t step = 0;
    std::int64_t steps = 0; ///< 0 until the worker has counted them
    int threads = 0;        ///< what the run really got
    double loss = std::numeric_limits<double>::quiet_NaN();
    double seconds = 0; ///< wall time of the process, once it has ended
    double trainingSeconds = 0;
    std::int64_t peakMemoryBytes = 0;
    std::string message;
};

class RunManager {
public:
    struct Options {
        std::filesystem::path worker;
        int cores = 1;       ///< sum of the threads of the runs in flight; a wider run runs alone
        int jobs = 1 << 16;  ///< and no more processes than this
        std::vector<std::size_t> runs{}; ///< positions of those to run; empty: all
        std::chrono::seconds timeLimit{0}; ///< for each run; 0: none
    };

    /// Starts at once: the reference first, then the longest. `wake` is called on a thread of the
    /// manager's after something changed; it must be quick. Throws ExecutionError if no thread can be started.
    RunManager(StudyFolder folder, Options options, std::function<void()> wake);

    /// Stops what still runs and waits for it.
    ~RunManager();
    RunManager(const RunManager&) = delete;
    RunManager& operator=(const RunManager&) = delete;

    /// The latest status of every run that changed since the last call. Progress may have been skipped,
    /// an end never is.
    std::vector<RunStatus> changes();

    void requestStop();
    [[nodiscard]] bool isDone() const;
    /// Until all runs have ended.
    void wait();

private:
    void serve(const std::stop_token& stop);
    std::optional<std::size_t> takeNext(const std::stop_token& stop);
    void execute(std::size_t run, const std::stop_token& stop);
    void update(std::size_t run, const std::function<void(RunStatus&)>& change);
    void finish(std::size_t run, RunState state, const std::string& message);
    [[nodiscard]] int coresFor(std::size_t run) const;
    [[nodiscard]] bool isDeviceFree(std::size_t run) const;
    /// The run that this one compares with as it goes, or none.
    [[nodiscard]] std::optional<std::size_t> measuredAgainst(std::size_t run) const;
    [[nodiscard]] bool isFinished(std::size_t run) const;
    [[nodiscard]] bool isReferenceDone(std::size_t run) const;

    StudyFolder m_folder;
    Options m_options;
    std::function<void()> m_wake;

    mutable std::mutex m_mutex;
    std::condition_variable_any m_changed;
    std::vector<std::size_t> m_queue;
    std::vector<RunStatus> m_status;
    std::vector<bool> m_isDirty;
    std::vector<int> m_claimed; ///< cores per run in flight
    int m_coresInUse = 0;
    std::size_t m_left = 0; ///< runs that have not ended
    std::vector<std::jthread> m_slots;
};

/// Cores this process may use (its affinity mask).
int availableCores();

} // namespace driftscope
