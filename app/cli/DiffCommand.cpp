// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "analysis/Judge.h"
#include "analysis/RunComparison.h"
#include "analysis/ViewData.h"
#include "execution/RunManager.h"
#include "recording/RunReader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace driftscope::cli {

namespace {

struct Options {
    std::string run, reference;
    std::string metric = "rel_l2";
    double tolerance = 0;
    bool json = false;
};

/// "threads.intra_op: 1 → 2" for every leaf that differs; what always differs is left out.
void findDifferences(const Json& a, const Json& b, const std::string& path, std::vector<std::string>& out) {
    if (a.is_object() && b.is_object()) {
        std::vector<std::string> keys;
        for (const Json* side : {&a, &b})
            for (const auto& [key, value] : side->items())
                if (std::ranges::find(keys, key) == keys.end())
                    keys.push_back(key);
        for (const std::string& key : keys)
            findDifferences(a.value(key, Json()), b.value(key, Json()), path.empty() ? key : path + "." + key, out);
    } else if (a != b) {
        out.push_back(fmt::format("{}: {} → {}", path, a.dump(), b.dump()));
    }
}

std::vector<std::string> environmentDifferences(const RunReader& run, const RunReader& reference) {
    std::vector<std::string> differences;
    const Json a = Json::parse(reference.environment(), nullptr, false);
    const Json b = Json::parse(run.environment(), nullptr, false);
    if (!a.is_discarded() && !b.is_discarded())
        findDifferences(a, b, "", differences);
    return differences;
}

/// Tensors in which the metric is above the tolerance at some row, with the first such step.
std::vector<std::pair<std::string, std::int64_t>> exceeding(const RunComparison& comparison, Metric metric,
                                                            double tolerance) {
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (std::size_t i = 0; i < comparison.scopes.size(); ++i) {
        if (comparison.scopes[i].kind != ScopeKind::Tensor)
            continue;
        for (std::size_t row = 0; row < comparison.rows(); ++row)
            if (!(comparison.value(metric, row, i) <= tolerance)) { // NaN exceeds
                found.emplace_back(comparison.scopes[i].name, comparison.steps[row]);
                break;
            }
    }
    return found;
}

void printJson(const RunComparison& comparison, const Verdict& verdict, const std::vector<std::string>& environment) {
    Json tensors = Json::object();
    for (std::size_t i = 0; i < comparison.scopes.size(); ++i) {
        if (comparison.scopes[i].kind != ScopeKind::Tensor)
            continue;
        Json& values = tensors[comparison.scopes[i].name];
        for (const MetricInfo& info : metrics()) {
            Json& rows = values[std::string(info.key)] = Json::array();
            for (std::size_t row = 0; row < comparison.rows(); ++row)
                rows.push_back(number(comparison.value(info.metric, row, i)));
        }
    }
    print({{"identical", !comparison.first},
           {"first_divergence", firstDivergenceJson(comparison.first)},
           {"rows", comparison.steps},
           {"tensors", tensors},
           {"ulp_histogram", comparison.ulpHistograms},
           {"verdict", verdictJson(verdict)},
           {"environment_differences", environment}});
}

void printText(const RunComparison& comparison, const Verdict& verdict, const Options& options, Metric metric,
               const std::vector<std::string>& environment) {
    if (!comparison.first) {
        fmt::print("identical: equal bits at all {} common steps\n", comparison.rows());
    } else {
        fmt::print("first difference: {}\n", toText(*comparison.first));
        const std::size_t last = comparison.rows() - 1;
        std::vector<std::vector<std::string>> table{
            {"tensor", fmt::format("{} at step {}", options.metric, comparison.steps[last]), "largest", "at step"}};
        for (std::size_t i = 0; i < comparison.scopes.size(); ++i) {
            // NaN where only digests tell that bits differ
            std::size_t worst = 0;
            bool isKnown = true;
            for (std::size_t row = 0; row < comparison.rows(); ++row) {
                isKnown = isKnown && !std::isnan(comparison.value(Metric::Changed, row, i));
                if (comparison.value(metric, row, i) > comparison.value(metric, worst, i))
                    worst = row;
            }
            const auto shown = [&](std::size_t row) {
                return isKnown ? shortNumber(comparison.value(metric, row, i)) : std::string("not kept");
            };
            table.push_back({scopeTitle(comparison.scopes[i]), shown(last), shown(worst),
                             isKnown ? fmt::to_string(comparison.steps[worst]) : ""});
            if (comparison.scopes[i].kind == ScopeKind::Layer)
                table.pop_back(); // the tensors say it
        }
        printTable(table);
        fmt::print("verdict: {}\n", verdict.kind);
        printVerdict(verdict);
    }
    for (const std::string& difference : environment)
        fmt::print("environment: {}\n", difference);
}

int diff(const Options& options) {
    const std::optional<Metric> metric = findMetric(options.metric);
    if (!metric) {
        std::vector<std::string_view> keys;
        for (const MetricInfo& info : metrics())
            keys.push_back(info.key);
        throw UsageError(fmt::format("--metric {} is not known{}; metrics: {}", options.metric,
                                     didYouMean(options.metric, keys), fmt::join(keys, ", ")));
    }
    const RunReader run(options.run), reference(options.reference);
    const bool hasPercentiles = options.json || *metric == Metric::UlpP50 || *metric == Metric::UlpP99;
    const RunComparison comparison =
        compareRuns(run, reference, availableCores(), {.hasPercentiles = hasPercentiles});
    if (comparison.rows() == 0)
        throw UsageError(fmt::format("{} and {} have no recorded step in common", options.run, options.reference));
    const std::vector<std::string> environment = environmentDifferences(run, reference);
    const Verdict verdict = judgeFiles(run, reference, comparison);
    if (options.json)
        printJson(comparison, verdict, environment);
    else
        printText(comparison, verdict, options, *metric, environment);
    if (!comparison.first)
        return Done;
    if (options.tolerance <= 0)
        return Differs;
    const auto over = exceeding(comparison, *metric, options.tolerance);
    if (!options.json)
        fmt::print("{}\n", over.empty() ? fmt::format("within tolerance: {} ≤ {} everywhere", options.metric,
                                                      options.tolerance)
                                        : fmt::format("over tolerance: {} > {} in {} from step {} on",
                                                      options.metric, options.tolerance, over.front().first,
                                                      over.front().second));
    return over.empty() ? Done : Differs;
}

} // namespace

void addDiff(CLI::App& app, int& exitCode) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("diff", "Compare two run files: exit 0 identical or within T, 1 differs");
    command->add_option("A", options->run, "Run file")->required();
    command->add_option("B", options->reference, "Run file that A is compared with")->required();
    command->add_option("-m,--metric", options->metric, "Metric shown and held against the tolerance (rel_l2)");
    command->add_option("-t,--tolerance", options->tolerance,
                        "Largest value of the metric, in any tensor at any step, that passes (0: bits must be equal)")
        ->check(CLI::NonNegativeNumber);
    command->add_flag("--json", options->json, "Every metric per tensor and step as JSON");
    command->callback([options, &exitCode] { exitCode = diff(*options); });
}

} // namespace driftscope::cli
