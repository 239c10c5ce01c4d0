// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Judge.h"
#include "analysis/SettingRole.h"
#include "analysis/StudyResults.h"
#include "analysis/Twins.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace driftscope {
namespace {

bool hasRows(const RunResult& run) { return run.comparison && run.comparison->rows() > 0; }

bool isFinished(const RunResult& run) { return !run.state || *run.state == RunState::Finished; }

/// Runs with the settings of run i, which should have its bits, and whether one of them has others.
void countRepeats(const StudyResults& results, std::size_t i, PairFacts& facts) {
    const RunResult& run = results.runs[i];
    for (std::size_t other = 0; other < results.runs.size(); ++other) {
        const RunResult& repeat = results.runs[other];
        if (other == i || !repeat.isConfigured || repeat.config.isTwin != run.config.isTwin || !isFinished(repeat) ||
            repeat.rows != run.rows || !settingDifferences(repeat.config, run.config).empty())
            continue;
        bool differs = false;
        if (repeat.reference == i && hasRows(repeat))
            differs = repeat.comparison->first.has_value();
        else if (repeat.reference == run.reference && hasRows(repeat) && hasRows(run))
            differs = repeat.comparison->values != run.comparison->values;
        else
            continue;
        ++facts.repeats;
        facts.doRepeatsDiffer |= differs;
    }
}

/// Where a study folder has a run's twin.
std::optional<std::filesystem::path> twinFile(const RunReader& run) {
    std::filesystem::path file = run.file();
    file.replace_filename(file.stem().string() + twinSuffix + ".h5");
    std::error_code ignored;
    return run.config() && std::filesystem::is_regular_file(file, ignored) && !std::filesystem::is_symlink(file, ignored)
               ? std::optional(file)
               : std::nullopt;
}

/// Median distance of finished runs from references that differ from them in nothing but the seed.
double seedSpread(const StudyResults& results) {
    std::vector<double> distances;
    for (const RunResult& run : results.runs) {
        if (run.config.isTwin || !run.isConfigured || !run.reference || !isFinished(run) || !hasRows(run))
            continue;
        const auto differences = settingDifferences(run.config, results.runs[*run.reference].config);
        const double distance = run.comparison->value(Metric::RelativeL2, run.comparison->rows() - 1, 0);
        if (differences.size() == 1 && differences.front().role == SettingRole::Seed && std::isfinite(distance))
            distances.push_back(distance);
    }
    if (distances.empty())
        return std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(distances);
    return distances[(distances.size() - 1) / 2];
}

} // namespace

Verdict judgeFiles(const RunReader& run, const RunReader& reference, const RunComparison& comparison) {
    RecordedEvidence recorded, recordedTwins;
    gatherEvidence(run, reference, recorded);
    PairFacts facts;
    facts.comparison = &comparison;
    facts.recorded = &recorded;
    if (run.config() && reference.config()) {
        facts.run = &*run.config();
        facts.reference = &*reference.config();
    }
    for (const RunReader* each : {&run, &reference})
        facts.isFinished = facts.isFinished && (each->progress().state == RunState::Finished ||
                                                each->progress().state == RunState::Running);
    if (!run.parameters().empty())
        facts.epsilon = epsilonOf(run.parameters().front().dtype);
    const auto twin = twinFile(run), referenceTwin = twinFile(reference);
    if (!twin || !referenceTwin)
        return judge(facts);
    const RunReader a(*twin), r(*referenceTwin);
    gatherEvidence(a, r, recordedTwins);
    const RunComparison twins = compareRuns(a, r, 1, {.hasPercentiles = false, .trustsDigests = true});
    facts.twins = &twins;
    facts.recordedTwins = &recordedTwins;
    return judge(facts);
}

Verdict judgeRun(const StudyResults& results, std::size_t i) {
    const RunResult& run = results.runs[i];
    if (!run.reference || !hasRows(run) || run.config.isTwin) // a twin is evidence, not a case
        return {};
    const RunResult& reference = results.runs[*run.reference];
    PairFacts facts;
    facts.comparison = run.comparison.get();
    facts.recorded = run.recorded.get();
    if (run.isConfigured && reference.isConfigured) {
        facts.run = &run.config;
        facts.reference = &reference.config;
        countRepeats(results, i, facts);
        countRepeats(results, *run.reference, facts);
        facts.seedSpread = seedSpread(results);
    }
    facts.isFinished = !run.state || *run.state == RunState::Finished || *run.state == RunState::Running;
    facts.epsilon = epsilonOf(run.dtype);
    if (const auto twin = comparedTwinOf(results, i)) {
        facts.twins = results.runs[*twin].comparison.get();
        facts.recordedTwins = results.runs[*twin].recorded.get();
    }
    return judge(facts);
}

} // namespace driftscope
