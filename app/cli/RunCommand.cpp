// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"
#include "DryRun.h"
#include "Interruption.h"
#include "ProgressLine.h"
#include "SpaceCheck.h"

#include "analysis/StudyResults.h"
#include "execution/DataCheck.h"
#include "execution/RunManager.h"
#include "execution/WorkerProcess.h"
#include "study/ByteText.h"
#include "study/DataFiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <semaphore>
#include <sstream>
#include <stop_token>
#include <unistd.h>

namespace driftscope::cli {
namespace {

struct Options {
    std::string study;
    std::string output;
    std::string data;
    std::vector<std::string> overrides;
    std::vector<std::string> only;
    int jobs = 0;
    int timeLimit = 0; ///< seconds; 0: none
    bool resume = false;
    bool dryRun = false;
    bool full = false;
    bool twins = false;
    bool json = false;
};

/// Reports what the manager says until every run has ended; Ctrl-C stops the runs, a second one kills.
/// `statuses` has one for every run of the study; those of the runs in `options` are replaced.
void supervise(const StudyFolder& folder, const RunManager::Options& options, std::vector<RunStatus>& statuses) {
    std::counting_semaphore<> wake(0);
    std::atomic<bool> isPending = false;
    RunManager manager(folder, options, [&] {
        if (!isPending.exchange(true))
            wake.release();
    });

    ProgressLine progress(folder, options.runs.size(), ::isatty(STDERR_FILENO) != 0);
    bool isStopping = false;
    for (bool isDone = false; !isDone;) {
        (void)wake.try_acquire_for(std::chrono::milliseconds(200));
        isPending = false;
        isDone = manager.isDone(); // before changes(), so that the last ones are not missed
        for (RunStatus& status : manager.changes()) {
            progress.update(status);
            statuses[status.run] = std::move(status);
        }
        if (Interruption::hasCome() && !isStopping) {
            isStopping = true;
            progress.say("stopping the runs; what they recorded is kept");
            manager.requestStop();
            std::signal(SIGINT, SIG_DFL);
        }
    }
    progress.finish();
}

Study prepare(const Options& options) {
    Study study = loadStudy(options.study);
    if (options.full)
        applyFullSize(study);
    if (!options.data.empty()) {
        const std::string path = std::filesystem::absolute(options.data).lexically_normal().string();
        study.base.data.kind = detectDataKind(path);
        study.base.data.path = path;
    }
    for (const std::string& text : options.overrides)
        applyOverride(study, text);
    if (options.twins)
        study.twin = "float64";
    expand(study); // what is impossible is bad input here, not later
    return study;
}

/// The study in the folder, if it is the one asked for, with the twins that are asked for; the folder is left as it
/// is. Throws UsageError with the lines that differ.
StudyFolder reopen(const std::filesystem::path& path, const Study& asked, bool twins) {
    StudyFolder folder = openStudyFolder(path);
    if (twins && folder.study.twin == "none") {
        folder.study.twin = "float64";
        folder.runs = expand(folder.study);
    }
    std::istringstream before(toToml(folder.study)), now(toToml(asked));
    std::string difference, a, b;
    while (true) {
        const bool hasA = static_cast<bool>(std::getline(before, a));
        const bool hasB = static_cast<bool>(std::getline(now, b));
        if (!hasA && !hasB)
            break;
        if (hasA != hasB || a != b)
            difference += (hasA ? "\n  recorded: " + a : "") + (hasB ? "\n  asked:    " + b : "");
    }
    if (!difference.empty())
        throw UsageError(fmt::format("{}: --resume with another study than was recorded there; give a new name with "
                                     "-o:{}",
                                     path.string(), difference));
    return folder;
}

/// Positions of the runs that have all of the settings named in --only, and of the references they need.
/// Throws UsageError if there are none.
std::vector<std::size_t> chosenRuns(const std::vector<RunConfig>& runs, const std::vector<std::string>& only) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (runs[i].isReference || std::ranges::all_of(only, [&](const std::string& text) {
                const std::size_t equals = text.find('=');
                if (equals == std::string::npos)
                    return runs[i].id == text;
                const SettingSpec& spec = settingNamed(text.substr(0, equals));
                return spec.get(runs[i]) == parseValue(spec, text.substr(equals + 1));
            }))
            chosen.push_back(i);
    if (!only.empty() && std::ranges::all_of(chosen, [&](std::size_t i) { return runs[i].isReference; }))
        throw UsageError(fmt::format("--only {}: no run but the reference is like that; --dry-run lists them",
                                     fmt::join(only, " --only ")));
    return chosen;
}

void printSummary(const StudyFolder& folder, const std::vector<RunStatus>& statuses, bool json) {
    if (!json) {
        const auto largest = std::ranges::max_element(statuses, {}, &RunStatus::peakMemoryBytes);
        if (largest != statuses.end() && largest->peakMemoryBytes > 0)
            fmt::print(stderr, "most memory: {} by {}\n", byteText(static_cast<double>(largest->peakMemoryBytes)),
                       label(folder.runs[largest->run]));
        fmt::print("{}\n", folder.path.string());
        return;
    }
    Json runs = Json::array();
    for (std::size_t i = 0; i < statuses.size(); ++i)
        runs.push_back({{"id", folder.runs[i].id},
                        {"status", statuses[i].state ? nameOf(*statuses[i].state) : "not run"},
                        {"reason", statuses[i].message},
                        {"seconds", statuses[i].seconds},
                        {"training_seconds", statuses[i].trainingSeconds},
                        {"peak_memory_bytes", statuses[i].peakMemoryBytes},
                        {"threads", statuses[i].threads}});
    print({{"study", folder.path.string()}, {"runs", runs}});
}

/// Says why if it can't: the runs are there all the same, and report computes from them what study.h5 would hold.
bool save(const StudyResults& results) {
    try {
        saveResults(results);
        return true;
    } catch (const std::exception& error) {
        fmt::print(stderr, "driftscope-cli: {}\n", error.what());
        return false;
    }
}

int run(const Options& options) {
    const Study study = prepare(options);
    const std::vector<std::size_t> chosen = chosenRuns(expand(study), options.only);
    const std::filesystem::path worker = findWorker();
    if (options.dryRun)
        return dryRun(study, chosen, worker, options.json);
    const bool isFolder = options.resume && std::filesystem::is_directory(options.study);
    const std::filesystem::path path = !options.output.empty() ? options.output : isFolder ? options.study : study.name;
    const bool isResumed = options.resume && std::filesystem::exists(path);
    if (!isResumed)
        requireNewFolder(path); // before the data are read, which may take long
    StudyFolder folder = isResumed ? reopen(path, study, options.twins) : StudyFolder{path, study, expand(study)};
    std::vector<std::size_t> unfinished = folder.unfinishedRuns();
    std::erase_if(unfinished, [&](std::size_t run) { return std::ranges::find(chosen, run) == chosen.end(); });
    std::optional<Interruption> interruption;
    if (!unfinished.empty()) {
        interruption.emplace();
        std::vector<RunConfig> configs;
        for (const std::size_t run : unfinished)
            configs.push_back(folder.runs[run]);
        warn(study, untilInterrupted([&](const std::stop_token& stop) { return checkData(configs, worker, stop); }));
    }
    requireSpaceFor(folder, unfinished, worker, Interruption::hasCome);
    if (Interruption::hasCome())
        return Interrupted;
    if (!isResumed)
        folder = createStudyFolder(path, study);
    else if (options.twins)
        folder = withTwins(std::move(folder));
    folder.clearRuns(unfinished);
    const int cores = availableCores();
    std::vector<RunStatus> statuses(folder.runs.size());
    for (std::size_t i = 0; i < statuses.size(); ++i) {
        statuses[i].run = i;
        if (std::ranges::find(chosen, i) != chosen.end())
            statuses[i].state = RunState::Finished;
    }
    if (!unfinished.empty())
        supervise(folder,
                  {worker, cores, options.jobs > 0 ? options.jobs : cores, unfinished,
                   std::chrono::seconds(options.timeLimit)},
                  statuses);

    const bool areSaved = save(loadResults(folder, cores));
    printSummary(folder, statuses, options.json);
    if (Interruption::hasCome())
        return Interrupted;
    const bool allFinished =
        std::ranges::all_of(chosen, [&](std::size_t run) { return statuses[run].state == RunState::Finished; });
    return allFinished && areSaved ? Done : RunsMissing;
}

} // namespace

void addRun(CLI::App& app, int& exitCode) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("run", "Run a study: train under every setting and record all weights");
    command->add_option("STUDY", options->study, "A study.toml or the name of a built-in study")->required();
    command->add_option("-o,--output", options->output, "Folder to make (default: the study's name)");
    command->add_option("--set", options->overrides,
                        "key=value overrides a setting, key=v1,v2 or 'key=[v1, v2]' makes an axis; a list is one value "
                        "where the setting is a list; may be given again")
        ->allow_extra_args(false);
    command->add_option("--data", options->data, "Folder with the data: CIFAR-10's binary version or IDX files");
    command->add_option("-j,--jobs", options->jobs, "At most so many runs at once (default: one per core)")
        ->check(CLI::Range(1, 1024));
    command->add_flag("--resume", options->resume,
                      "Go on with the study in the folder: keep finished runs, run the others again");
    command->add_option("--only", options->only,
                        "Only the runs with key=value, or of that id, and the reference; may be given again")
        ->allow_extra_args(false);
    command->add_option("--time-limit", options->timeLimit, "Seconds that a run may take; what takes longer has failed")
        ->check(CLI::Range(1, 1 << 30));
    command->add_flag("-n,--dry-run", options->dryRun,
                      "Only list the runs, with the time and disk they would take: trains a few steps of each");
    command->add_flag("--full", options->full, "At the full size that the study names: hours, not minutes");
    command->add_flag("--twins", options->twins,
                      "Every run once more in float64, to tell rounding from another function; with --resume also for a "
                      "study that was run without");
    command->add_flag("--json", options->json, "Summary as JSON");
    command->callback([options, &exitCode] { exitCode = run(*options); });
}

} // namespace driftscope::cli
