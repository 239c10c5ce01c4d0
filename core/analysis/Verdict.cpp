// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace driftscope {

std::string toText(const FirstDivergence& first) {
    std::string text = fmt::format("step {}, phase {}", first.step, first.phase);
    if (!first.tensor.empty())
        text += fmt::format(", {}", first.tensor);
    return text;
}

namespace {

/// "threads (1 → 2)" for every setting in which the two runs differ.
std::vector<std::string> settingDifferences(const RunConfig& run, const RunConfig& reference) {
    std::vector<std::string> differences;
    for (const SettingSpec& spec : settingSpecs())
        if (const SettingValue value = spec.get(run), other = spec.get(reference); value != other && spec.key != "repeat")
            differences.push_back(fmt::format("{} ({} → {})", spec.axisKey(), toText(other), toText(value)));
    return differences;
}

} // namespace

Verdict judgeRun(const StudyResults& results, std::size_t i) {
    const RunResult& run = results.runs[i];
    if (!run.comparison || run.comparison->rows() == 0)
        return {};
    const RunComparison& comparison = *run.comparison;
    const std::size_t last = comparison.rows() - 1;
    if (!comparison.first && run.state && run.state != RunState::Finished && run.state != RunState::Running)
        return {"inconclusive", {fmt::format("the weights have equal bits at the {} recorded steps before the run ended, "
                                             "0 to {}",
                                             comparison.rows(), comparison.steps[last])}};
    if (!comparison.first)
        return {"identical", {fmt::format("the weights have equal bits at all {} common recorded steps, 0 to {}",
                                          comparison.rows(), comparison.steps[last])}};

    Verdict verdict{"inconclusive", {}};
    verdict.evidence.push_back(fmt::format("first difference: {}", toText(*comparison.first)));
    verdict.evidence.push_back(fmt::format("relative L2 distance {:.2e} and largest ULP distance {:.0f} at step {}",
                                           comparison.value(Metric::RelativeL2, last, 0),
                                           comparison.value(Metric::UlpMax, last, 0), comparison.steps[last]));
    const RunResult& reference = results.runs[*run.reference];
    if (!run.isConfigured || !reference.isConfigured) {
        verdict.evidence.emplace_back("the settings of files that others wrote are not known");
        return verdict;
    }
    const auto differences = settingDifferences(run.config, reference.config);
    if (differences.empty()) {
        verdict.kind = "run-to-run";
        verdict.evidence.emplace_back("no setting differs: the same run gave other bits");
        return verdict;
    }
    verdict.evidence.push_back(fmt::format("settings that differ: {}", fmt::join(differences, ", ")));
    verdict.evidence.push_back("size alone does not tell rounding from another function: float64 twins would");
    return verdict;
}

} // namespace driftscope
