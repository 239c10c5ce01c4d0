// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ReportText.h"

#include "analysis/ViewData.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace driftscope {
namespace {

struct KindText {
    std::string_view kind, symbol;
    std::string_view because; ///< "3 of 5 runs differ; 3 …"
};

constexpr std::array<KindText, 8> kinds{{
    {"identical", "=", "bit-identical"},
    {"rounding", "≈", "by rounding"},
    {"precision", "≋", "by precision"},
    {"data", "⇄", "by their data"},
    {"random", "⚂", "by random numbers"},
    {"algorithmic", "≠", "by another function (algorithmic)"},
    {"run-to-run", "↻", "from run to run"},
    {"inconclusive", "?", "inconclusive"},
}};

const KindText* findKind(std::string_view kind) {
    const auto* found = std::ranges::find(kinds, kind, &KindText::kind);
    return found == kinds.end() ? nullptr : found;
}

bool isFinished(const RunResult& run) { return run.state == RunState::Finished; }

bool hasRows(const RunResult& run) { return run.comparison && run.comparison->rows() > 0; }

/// "2 runs", "1 run"
std::string countText(std::size_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "all by rounding", or "3 by rounding, 1 inconclusive".
std::string causesText(const std::vector<std::string>& verdicts) {
    std::vector<std::pair<std::string_view, std::size_t>> causes;
    for (const std::string& verdict : verdicts) {
        const KindText* kind = findKind(verdict);
        const std::string_view because = kind ? kind->because : "not judged";
        const auto found = std::ranges::find(causes, because, &std::pair<std::string_view, std::size_t>::first);
        if (found == causes.end())
            causes.emplace_back(because, 1);
        else
            ++found->second;
    }
    if (causes.size() == 1)
        return fmt::format("{}{}", verdicts.size() > 1 ? "all " : "", causes.front().first);
    std::vector<std::string> parts;
    for (const auto& [because, count] : causes)
        parts.push_back(fmt::format("{} {}", count, because));
    return fmt::format("{}", fmt::join(parts, ", "));
}

/// The one run that the others are compared with, or what stands for several.
std::string referenceText(const StudyResults& results, const std::vector<std::size_t>& references) {
    if (references.size() == 1)
        return runTitle(results.runs[references.front()]);
    return fmt::format("the reference of the same {}", fmt::join(results.folder.study.groups, " and "));
}

/// "the reference run again has the same bits"
std::string controlText(const StudyResults& results) {
    std::size_t controls = 0, identical = 0;
    for (const RunResult& run : results.runs)
        if (run.config.isControl && !run.config.isTwin && isFinished(run) && hasRows(run)) {
            ++controls;
            identical += !run.comparison->first;
        }
    if (controls == 0)
        return "";
    return identical == controls ? "the reference, run again, has the same bits"
                                 : "the reference, run again, has other bits, so that not every difference is a setting's";
}

} // namespace

std::vector<ReportRow> reportRows(const StudyResults& results) {
    std::vector<ReportRow> rows;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const RunResult& run = results.runs[i];
        if (run.config.isTwin && isFinished(run))
            continue;
        ReportRow row;
        row.run = i;
        row.state = run.state ? nameOf(*run.state) : "not run";
        row.verdict = run.verdict.kind;
        row.isReference = !run.reference;
        const bool hasFailed = run.state && !isFinished(run) && run.state != RunState::Running;
        if (hasFailed) {
            row.first = run.message;
        } else if (!row.isReference && !hasRows(run)) {
            row.first = run.comparisonProblem;
        } else if (!row.isReference) {
            const RunComparison& comparison = *run.comparison;
            const std::size_t last = comparison.rows() - 1;
            row.first = comparison.first ? toText(*comparison.first) : "none: bit-identical";
            row.step = comparison.steps[last];
            row.isKept = !std::isnan(comparison.value(Metric::Changed, last, 0));
            row.relativeL2 = comparison.value(Metric::RelativeL2, last, 0);
            row.maxAbsolute = comparison.value(Metric::MaxAbsolute, last, 0);
            row.ulpMax = comparison.value(Metric::UlpMax, last, 0);
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string distanceText(const ReportRow& row, double distance) {
    if (!row.step)
        return "";
    return row.isKept ? shortNumber(distance) : "not kept";
}

std::string outcomeText(const ReportRow& row) {
    if (row.state != nameOf(RunState::Finished))
        return row.verdict.empty() ? row.state : fmt::format("{}, {}", row.state, row.verdict);
    return row.isReference ? "the reference" : row.verdict;
}

std::string summarySentence(const StudyResults& results) {
    std::size_t compared = 0, unfinished = 0;
    std::vector<std::string> verdicts;
    std::vector<std::size_t> references;
    for (const RunResult& run : results.runs) {
        if (run.config.isTwin || run.config.isControl)
            continue;
        unfinished += !isFinished(run);
        // equal bits so far say nothing of a run that broke off; other bits do
        if (!run.reference || !hasRows(run) || (!isFinished(run) && !run.comparison->first))
            continue;
        ++compared;
        if (std::ranges::find(references, *run.reference) == references.end())
            references.push_back(*run.reference);
        if (run.comparison->first)
            verdicts.push_back(run.verdict.kind);
    }
    std::vector<std::string> parts;
    if (compared == 0)
        parts.emplace_back("Nothing has been compared yet");
    else if (verdicts.empty())
        parts.push_back(fmt::format("{} bit-identical to {}",
                                    compared == 1 ? "The one run compared is"
                                                  : fmt::format("All {} runs compared are", compared),
                                    referenceText(results, references)));
    else
        parts.push_back(fmt::format("{} of {} {} from {}; {}", verdicts.size(), countText(compared, "run"),
                                    verdicts.size() == 1 ? "differs" : "differ", referenceText(results, references),
                                    causesText(verdicts)));
    if (std::string control = controlText(results); !control.empty())
        parts.push_back(std::move(control));
    if (unfinished > 0)
        parts.push_back(fmt::format("{} {} not finished", countText(unfinished, "run"), unfinished == 1 ? "has" : "have"));
    return fmt::format("{}.", fmt::join(parts, "; "));
}

std::string dataLine(const StudyResults& results) {
    for (const RunResult& run : results.runs) {
        const auto environment = nlohmann::json::parse(run.environment, nullptr, false);
        if (environment.is_object() && environment.contains("data") && environment["data"].is_string())
            return environment["data"].get<std::string>();
    }
    return "";
}

std::string samplingNote(const StudyResults& results) {
    const RecordConfig& record = results.folder.study.base.record;
    if (record.weights != "sample")
        return "";
    return fmt::format("Distances are of at most {} elements of each tensor, equal bits of all.", record.sampleSize);
}

const RunResult* referenceOf(const StudyResults& results) {
    const auto found = std::ranges::find_if(
        results.runs, [](const RunResult& run) { return run.config.isReference && !run.config.isTwin; });
    return found == results.runs.end() ? nullptr : &*found;
}

std::string_view verdictSymbol(std::string_view kind) {
    const KindText* found = findKind(kind);
    return found ? found->symbol : "";
}

std::string growthText(const Growth& growth) {
    if (growth.form == GrowthForm::PowerLaw)
        return fmt::format("as step^{:.2g} ({:.2g} … {:.2g})", growth.rate, growth.low, growth.high);
    std::string text = fmt::format("{:.2g} per step ({:.2g} … {:.2g})", growth.rate, growth.low, growth.high);
    if (std::isfinite(growth.doublingSteps))
        text += fmt::format(", doubling every {:.3g} steps", growth.doublingSteps);
    return text;
}

std::string interactionText(const Interaction& interaction) {
    return fmt::format("{} and {} together: {}, alone at most {} ({})", interaction.first, interaction.second,
                       shortNumber(interaction.together), shortNumber(interaction.alone), interaction.example);
}

} // namespace driftscope
