// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/StudyResults.h"

#include "analysis/Judge.h"
#include "analysis/ResultsFile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace driftscope {

namespace fs = std::filesystem;

struct LiveResults::Implementation {
    /// What is open for a run. The comparer borrows the reader of its own run and of the reference, both
    /// of which stay where they are.
    struct Open {
        std::unique_ptr<RunReader> reader;
        std::unique_ptr<RunComparer> comparer;
        RecordedEvidence evidence;
        std::shared_ptr<const RunComparison> grown; ///< the one that growth was fitted to
        bool isFinal = false; ///< its state will not change any more
        bool isCached = false;
    };

    StudyResults results;
    std::vector<fs::path> files;
    std::vector<Open> open;
    std::map<std::string, CachedComparison> cache;

    bool readRun(std::size_t i);
    bool compareRun(std::size_t i, int threads, const std::stop_token& stop);
    bool takeCached(std::size_t i);
    static void gather(Open& entry, const Open& reference, RunResult& run);
    void judge();
};

LiveResults::LiveResults(StudyFolder folder) : m(std::make_unique<Implementation>()) {
    for (std::size_t i = 0; i < folder.runs.size(); ++i) {
        RunResult run;
        run.config = folder.runs[i];
        run.reference = folder.referenceOf(i);
        m->results.runs.push_back(std::move(run));
        m->files.push_back(folder.runFile(folder.runs[i]));
    }
    m->open.resize(folder.runs.size());
    m->cache = readResultsFile(folder.resultsFile());
    m->results.folder = std::move(folder);
}

LiveResults::LiveResults(std::vector<fs::path> runFiles) : m(std::make_unique<Implementation>()) {
    m->open.resize(runFiles.size());
    for (std::size_t i = 0; i < runFiles.size(); ++i) {
        m->open[i].reader = std::make_unique<RunReader>(runFiles[i]);
        RunResult run;
        // Two files may come from studies that gave them the same id.
        if (const auto& config = m->open[i].reader->config())
            run.config = *config;
        else
            run.isConfigured = false;
        run.config.id = runFiles[i].string();
        run.config.isReference = i == 0;
        if (i > 0)
            run.reference = 0;
        m->results.runs.push_back(std::move(run));
    }
    m->files = std::move(runFiles);
    if (!m->files.empty())
        m->results.folder.study.name = m->files.front().stem().string();
}

LiveResults::~LiveResults() = default;
LiveResults::LiveResults(LiveResults&&) noexcept = default;
LiveResults& LiveResults::operator=(LiveResults&&) noexcept = default;

const StudyResults& LiveResults::results() const { return m->results; }

bool LiveResults::Implementation::readRun(std::size_t i) {
    Open& entry = open[i];
    RunResult& run = results.runs[i];
    if (entry.isFinal)
        return false;
    if (!entry.reader) {
        if (!fs::exists(files[i]))
            return false;
        try {
            if (!results.folder.path.empty() && fs::is_symlink(files[i]))
                throw RecordingError(fmt::format("{}: is a link, which is not followed", files[i].string()));
            entry.reader = std::make_unique<RunReader>(files[i]);
        } catch (const RecordingError& error) { // one damaged file must not hide the others
            run.state = RunState::Failed;
            run.message = error.what();
            entry.isFinal = true;
            return true;
        }
    }
    const RunReader& reader = *entry.reader;
    const RunProgress progress = reader.progress();
    const bool hasChanged = run.state != progress.state || run.rows != progress.rows;
    if (!hasChanged)
        return false;
    run.state = progress.state;
    run.rows = progress.rows;
    run.totalRows = static_cast<std::int64_t>(reader.steps().size());
    run.runId = reader.runId();
    run.environment = reader.environment();
    if (!reader.parameters().empty())
        run.dtype = reader.parameters().front().dtype;
    run.steps.assign(reader.steps().begin(), reader.steps().begin() + progress.rows);
    for (std::size_t scalar = 0; scalar < ScalarCount; ++scalar)
        run.scalars[scalar] = reader.scalar(static_cast<Scalar>(scalar));
    if (progress.state != RunState::Running) {
        run.message = reader.message();
        entry.isFinal = true;
    }
    return true;
}

bool LiveResults::Implementation::takeCached(std::size_t i) {
    RunResult& run = results.runs[i];
    const auto found = cache.find(run.config.id);
    if (found == cache.end())
        return false;
    const RunResult& reference = results.runs[*run.reference];
    const auto& [runId, referenceRunId, comparison] = found->second;
    const auto rows = static_cast<std::size_t>(std::min(run.rows, reference.rows));
    if (runId.empty() || runId != run.runId || referenceRunId != reference.runId || comparison->rows() != rows)
        return false;
    run.comparison = comparison;
    open[i].isCached = true;
    return true;
}

bool LiveResults::Implementation::compareRun(std::size_t i, int threads, const std::stop_token& stop) {
    RunResult& run = results.runs[i];
    Open& entry = open[i];
    if (!run.reference || entry.isCached || !run.comparisonProblem.empty())
        return false;
    const Open& reference = open[*run.reference];
    if (!entry.reader || !reference.reader || run.rows == 0 || results.runs[*run.reference].rows == 0)
        return false;
    try {
        if (entry.isFinal && reference.isFinal && !entry.comparer && takeCached(i)) {
            gather(entry, reference, run);
            return true;
        }
        if (!entry.comparer)
            entry.comparer = std::make_unique<RunComparer>(*entry.reader, *reference.reader,
                                                           ComparisonOptions{.trustsDigests = true});
        if (!entry.comparer->update(threads, stop))
            return false;
        run.comparison = std::make_shared<const RunComparison>(entry.comparer->result());
        gather(entry, reference, run);
    } catch (const RecordingError& error) {
        run.comparisonProblem = error.what();
    }
    return true;
}

void LiveResults::Implementation::gather(Open& entry, const Open& reference, RunResult& run) {
    gatherEvidence(*entry.reader, *reference.reader, entry.evidence);
    run.recorded = std::make_shared<const RecordedEvidence>(entry.evidence);
}

namespace {

std::optional<Growth> growthOf(const RunComparison& comparison) {
    std::vector<double> distances(comparison.rows());
    for (std::size_t row = 0; row < distances.size(); ++row)
        distances[row] = comparison.value(Metric::RelativeL2, row, 0);
    return fitGrowth(comparison.steps, distances);
}

} // namespace

void LiveResults::Implementation::judge() {
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        RunResult& run = results.runs[i];
        run.verdict = judgeRun(results, i);
        if (run.comparison == open[i].grown)
            continue;
        open[i].grown = run.comparison;
        run.growth = run.comparison ? growthOf(*run.comparison) : std::nullopt;
    }
}

bool LiveResults::update(int threads, std::stop_token stop) {
    bool hasChanged = false;
    for (std::size_t i = 0; i < m->open.size(); ++i)
        hasChanged |= m->readRun(i);
    for (std::size_t i = 0; i < m->open.size() && !stop.stop_requested(); ++i)
        hasChanged |= m->compareRun(i, threads, stop);
    if (hasChanged)
        m->judge();
    return hasChanged;
}

void LiveResults::setReference(std::size_t run) {
    // twins are compared with a twin: that of the new reference
    const RunConfig& chosen = m->results.runs.at(run).config;
    std::optional<std::size_t> counterpart;
    for (std::size_t i = 0; i < m->results.runs.size(); ++i)
        if (const RunConfig& other = m->results.runs[i].config;
            other.isTwin != chosen.isTwin && !other.isControl && other.settings == chosen.settings)
            counterpart = i;
    const bool isTwin = chosen.isTwin;
    for (std::size_t i = 0; i < m->results.runs.size(); ++i) {
        RunResult& result = m->results.runs[i];
        const std::optional<std::size_t> reference = result.config.isTwin == isTwin ? run : counterpart;
        if (!reference)
            continue;
        result.config.isReference = i == reference;
        result.reference = i == reference ? std::nullopt : reference;
        result.recorded.reset();
        m->open[i].evidence = {};
        result.comparison.reset();
        result.comparisonProblem.clear();
        m->open[i].comparer.reset();
        m->open[i].isCached = false;
    }
}

StudyResults loadResults(const StudyFolder& folder, int threads, std::stop_token stop) {
    LiveResults live(folder);
    live.update(threads, std::move(stop));
    return live.results();
}

StudyResults loadRunFiles(const std::vector<fs::path>& files, int threads) {
    LiveResults live(files);
    live.update(threads);
    return live.results();
}

void saveResults(const StudyResults& results) { writeResultsFile(results.folder.resultsFile(), results); }

} // namespace driftscope
