// SPDX-License-Identifier: GPL-3.0-or-later
#include "DryRun.h"

#include "Command.h"
#include "Interruption.h"

#include "execution/RunManager.h"
#include "execution/WorkerProcess.h"
#include "recording/PrivateFolder.h"
#include "study/ByteText.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <optional>

namespace driftscope::cli {
namespace {

constexpr std::int64_t trialSteps = 5;

struct Estimate {
    WorkerEnded end;
    std::int64_t steps = 0;
    int threads = 1;
    std::uint64_t bytes = 0;
    double seconds = 0;
};

/// Trains a few steps. What the process takes before them counts once, the steps as often as there are.
Estimate tryOut(const RunConfig& config, const WorkerLaunch& launch, const std::stop_token& stop) {
    Estimate estimate;
    std::int64_t tried = 0;
    const auto start = std::chrono::steady_clock::now();
    estimate.end = runWorker(launch, {.config = config, .file = {}, .trialSteps = trialSteps}, stop,
                             [&](const WorkerEvent& event) {
                                 if (const auto* started = std::get_if<WorkerStarted>(&event)) {
                                     estimate.steps = started->steps;
                                     estimate.threads = started->threads;
                                     estimate.bytes = started->recordedBytes;
                                 } else if (const auto* stepped = std::get_if<WorkerStepped>(&event)) {
                                     tried = stepped->step;
                                 }
                             });
    const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double perStep = estimate.end.trainingSeconds / static_cast<double>(std::max<std::int64_t>(tried, 1));
    estimate.seconds = all - estimate.end.trainingSeconds + perStep * static_cast<double>(estimate.steps);
    return estimate;
}

std::string durationText(double seconds) {
    if (seconds < 120)
        return fmt::format("{:.0f} s", std::max(seconds, 1.0));
    return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

std::string roleOf(const RunConfig& run) {
    return run.isTwin ? "twin" : run.isControl ? "control" : run.isReference ? "reference" : "";
}

int estimate(const Study& study, const std::vector<std::size_t>& chosen, const std::filesystem::path& worker, bool json,
             const std::stop_token& stop) {
    const std::vector<RunConfig> runs = expand(study);
    std::vector<RunConfig> configs;
    for (const std::size_t i : chosen)
        configs.push_back(runs[i]);
    warn(study, checkData(configs, worker, stop));
    const int cores = availableCores();
    std::optional<PrivateFolder> folder;
    folder.emplace(std::filesystem::temp_directory_path(), "driftscope-dry-run");
    const WorkerLaunch launch{.worker = worker, .log = folder->path() / "log"};
    std::vector<std::vector<std::string>> rows{{"run", "id", "role", "steps", "time", "disk"}};
    Json list = Json::array();
    double coreSeconds = 0, bytes = 0;
    bool isComplete = true;
    for (const std::size_t i : chosen) {
        const Estimate estimate = tryOut(runs[i], launch, stop);
        if (stop.stop_requested())
            return Interrupted;
        const bool isPossible = estimate.end.state == RunState::Finished;
        isComplete = isComplete && isPossible;
        // a run measured as it goes trains the reference beside it
        const double work = runs[i].record.weights == "metrics" && !runs[i].isReference ? 2 : 1;
        if (isPossible) {
            coreSeconds += work * estimate.seconds * std::min(estimate.threads, cores);
            bytes += static_cast<double>(estimate.bytes);
        }
        rows.push_back({label(runs[i]), runs[i].id, roleOf(runs[i]), fmt::to_string(estimate.steps),
                        isPossible ? durationText(estimate.seconds)
                                   : fmt::format("{}: {}", nameOf(estimate.end.state), estimate.end.message),
                        isPossible ? byteText(static_cast<double>(estimate.bytes)) : ""});
        list.push_back({{"id", runs[i].id},
                        {"label", label(runs[i])},
                        {"role", roleOf(runs[i])},
                        {"status", isPossible ? "possible" : nameOf(estimate.end.state)},
                        {"reason", estimate.end.message},
                        {"steps", estimate.steps},
                        {"seconds", isPossible ? Json(estimate.seconds) : Json(nullptr)},
                        {"bytes", isPossible ? Json(estimate.bytes) : Json(nullptr)}});
    }
    folder.reset(); // printing into a closed pipe ends the program
    const double seconds = coreSeconds / cores;
    if (json) {
        print({{"runs", list}, {"seconds", seconds}, {"bytes", bytes}});
    } else {
        printTable(rows);
        fmt::print("\n{} runs, about {} on {} cores, {} on the disk\n", chosen.size(), durationText(seconds), cores,
                   byteText(bytes));
    }
    return isComplete ? Done : RunsMissing;
}

} // namespace

void warn(const Study& study, const CheckedData& data) {
    for (const std::vector<std::string>& sentences : {unusedSettings(study), data.warnings})
        for (const std::string& sentence : sentences)
            fmt::print(stderr, "warning: {}\n", sentence);
}

int dryRun(const Study& study, const std::vector<std::size_t>& chosen, const std::filesystem::path& worker, bool json) {
    return untilInterrupted(
        [&](const std::stop_token& stop) { return estimate(study, chosen, worker, json, stop); });
}

} // namespace driftscope::cli
