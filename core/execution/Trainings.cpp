// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/Trainings.h"

#include "execution/RunManager.h"
#include "recording/RunReader.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <utility>

namespace driftscope {

namespace fs = std::filesystem;

Trainings::Trainings(fs::path folder, fs::path worker, int cores)
    : m_folder(std::move(folder)), m_worker(std::move(worker)), m_cores(cores) {
    std::error_code error;
    fs::create_directories(m_folder / "runs", error);
    if (error)
        throw RecordingError(fmt::format("{}: cannot be created: {}", m_folder.string(), error.message()));
}

Trained Trainings::readBack(const fs::path& recording) const {
    try {
        const RunReader reader(recording);
        Trained trained{digestsOf(reader), reader.scalar(StepSeconds)};
        // row 0 has no step, and the first one warms caches up
        const std::size_t warm =
            std::min<std::size_t>(trained.stepSeconds.size(), trained.stepSeconds.size() > 2 ? 2 : 1);
        trained.stepSeconds.erase(trained.stepSeconds.begin(),
                                  trained.stepSeconds.begin() + static_cast<std::ptrdiff_t>(warm));
        return trained;
    } catch (const RecordingError& error) {
        return {.digests = {}, .stepSeconds = {}, .problem = error.what()};
    }
}

void Trainings::run(std::vector<RunConfig> configs, int jobs, const OnEnd& onEnd, const std::stop_token& stop) {
    if (configs.empty() || stop.stop_requested())
        return;
    for (RunConfig& config : configs) {
        config.id = fmt::format("{}", ++m_started);
        config.record = RecordConfig{};
        config.record.weights = "digest";
    }
    const StudyFolder folder{m_folder, {}, std::move(configs)};
    std::counting_semaphore<> wake(0);
    std::atomic<bool> isPending = false;
    const auto rouse = [&] {
        if (!isPending.exchange(true))
            wake.release();
    };
    RunManager manager(folder, {.worker = m_worker, .cores = m_cores, .jobs = jobs}, rouse);
    const std::stop_callback onStop(stop, [&manager] { manager.requestStop(); });
    bool isWanted = true;
    for (bool isDone = false; !isDone;) {
        (void)wake.try_acquire_for(std::chrono::milliseconds(200));
        isPending = false;
        isDone = manager.isDone(); // before changes(), so that the last ones are not missed
        for (const RunStatus& status : manager.changes()) {
            if (!status.state || *status.state == RunState::Running)
                continue;
            const fs::path file = folder.runFile(folder.runs[status.run]);
            Trained trained{{}, {}, status.message};
            if (*status.state == RunState::Finished) {
                trained = readBack(file);
                ++m_finished;
            }
            std::error_code ignored;
            fs::remove(file, ignored);
            fs::remove(folder.logFile(folder.runs[status.run]), ignored);
            const bool wasStopped = *status.state == RunState::Cancelled && (!isWanted || stop.stop_requested());
            if (!wasStopped && !onEnd(status.run, std::move(trained))) {
                isWanted = false;
                manager.requestStop();
            }
        }
    }
}

} // namespace driftscope
