// SPDX-License-Identifier: GPL-3.0-or-later
#include "SpaceCheck.h"

#include "Command.h"

#include "execution/WorkerProcess.h"
#include "study/ByteText.h"
#include "study/Setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <limits>
#include <optional>
#include <stop_token>
#include <sys/stat.h>

namespace driftscope::cli {
namespace {

namespace fs = std::filesystem;

/// More than a row of the largest network of a fixed size (resnet50: 26 M parameters) takes with weights, gradients
/// and optimizer state in float64. Few disks are so full that a worker must count.
constexpr double largestRow = 1e9;

/// None where the data decide, which only a worker reads.
std::optional<double> plannedRows(const RunConfig& run) {
    if (!run.train.steps)
        return std::nullopt;
    const std::int64_t steps = *run.train.steps;
    const RecordConfig& record = run.record;
    double rows = 2; // the first and the last
    if (record.isLogarithmic)
        for (double decade = 1; decade < static_cast<double>(steps); decade *= 10)
            for (const double digit : {1.0, 2.0, 5.0})
                rows += digit * decade < static_cast<double>(steps) ? 1 : 0;
    else if (!record.steps.empty())
        rows += static_cast<double>(
            std::ranges::count_if(record.steps, [&](std::int64_t step) { return step > 0 && step < steps; }));
    else
        rows += static_cast<double>((steps - 1) / record.every);
    return rows;
}

double elementBytes(const std::string& dtype) {
    return dtype == "float64" ? 8 : dtype == "float32" ? 4 : 2;
}

/// Of the disk that the folder is on or will be on, with what the runs' own unfinished files hold.
double availableBytes(const StudyFolder& folder, const std::vector<std::size_t>& runs) {
    std::error_code error;
    fs::path place = fs::absolute(folder.path, error);
    while (!fs::exists(place, error) && place.has_relative_path())
        place = place.parent_path();
    const fs::space_info space = fs::space(place, error);
    if (error)
        return std::numeric_limits<double>::infinity();
    auto bytes = static_cast<double>(space.available);
    for (const std::size_t run : runs) {
        struct stat status {};
        if (::stat(folder.runFile(folder.runs[run]).c_str(), &status) == 0)
            bytes += 512.0 * static_cast<double>(status.st_blocks);
    }
    return bytes;
}

/// 0 if the worker ended before it had counted them.
std::uint64_t recordedBytes(const RunConfig& config, const fs::path& worker, const std::function<bool()>& isStopped) {
    std::stop_source enough;
    auto counted = std::async(std::launch::async, [&] {
        std::uint64_t bytes = 0;
        try {
            runWorker({worker, "/dev/null"}, {.config = config, .file = {}, .trialSteps = 1}, enough.get_token(),
                      [&](const WorkerEvent& event) {
                          if (const auto* started = std::get_if<WorkerStarted>(&event)) {
                              bytes = started->recordedBytes;
                              enough.request_stop();
                          }
                      });
        } catch (const ExecutionError&) { // the run itself will say so
        }
        return bytes;
    });
    while (counted.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        if (isStopped())
            enough.request_stop();
    return counted.get();
}

bool surelyFits(const StudyFolder& folder, const std::vector<std::size_t>& runs, double available) {
    double rows = 0;
    for (const std::size_t run : runs) {
        const RunConfig& config = folder.runs[run];
        const std::optional<double> planned = plannedRows(config);
        if (!planned || config.model.kind == "torchscript" || !config.record.activations.empty())
            return false;
        rows += *planned;
    }
    return rows * largestRow <= available;
}

} // namespace

double sizeBeside(const RunConfig& run, const RunConfig& reference) {
    for (const SettingSpec& spec : settingSpecs()) {
        const bool decidesSize = spec.section == "model" || spec.section == "data" ||
                                 (spec.section == "record" && spec.key != "every" && spec.key != "steps") ||
                                 (spec.key == "optimizer" && run.record.optimizer != "none") || spec.key == "epochs";
        if (decidesSize && spec.get(run) != spec.get(reference))
            return 0;
    }
    if (run.train.batch < reference.train.batch) // sample ids, and the number of steps in an epoch
        return 0;
    double share = std::min(1.0, elementBytes(run.train.dtype) / elementBytes(reference.train.dtype));
    const auto rows = plannedRows(run), others = plannedRows(reference);
    if (rows && others)
        share *= *rows / *others;
    else if (run.train.batch != reference.train.batch || run.record.every != reference.record.every ||
             run.record.steps != reference.record.steps || run.record.isLogarithmic != reference.record.isLogarithmic)
        return 0;
    return share;
}

void requireSpaceFor(const StudyFolder& folder, const std::vector<std::size_t>& runs, const fs::path& worker,
                     const std::function<bool()>& isStopped) {
    const auto reference = std::ranges::find_if(
        folder.runs, [](const RunConfig& run) { return run.isReference && !run.isTwin; });
    if (runs.empty() || reference == folder.runs.end())
        return;
    const double available = availableBytes(folder, runs);
    if (surelyFits(folder, runs, available))
        return;
    double shares = 0;
    for (const std::size_t run : runs)
        shares += sizeBeside(folder.runs[run], *reference);
    const double needed = shares * static_cast<double>(recordedBytes(*reference, worker, isStopped));
    if (needed > available)
        throw UsageError(fmt::format("{}: not enough disk space for the study: {} run{} need at least {}, {} are free; "
                                     "record fewer steps ([record] every), less of each ([record] weights), or choose "
                                     "another folder with -o",
                                     folder.path.string(), runs.size(), runs.size() == 1 ? "" : "s", byteText(needed),
                                     byteText(available)));
}

} // namespace driftscope::cli
