// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "analysis/Attribution.h"
#include "analysis/ReluFlips.h"
#include "analysis/StudyResults.h"
#include "analysis/ViewData.h"
#include "execution/RunManager.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

namespace driftscope::cli {

namespace {

Json finalMetrics(const RunComparison& comparison, std::size_t scope) {
    Json values = Json::object();
    for (const MetricInfo& info : metrics())
        values[std::string(info.key)] = number(comparison.value(info.metric, comparison.rows() - 1, scope));
    return values;
}

Json toJson(const std::optional<Growth>& growth) {
    if (!growth)
        return nullptr;
    return {{"form", growth->form == GrowthForm::Exponential ? "exponential" : "power law"},
            {"rate", number(growth->rate)},
            {"low", number(growth->low)},
            {"high", number(growth->high)},
            {"doubling_steps", number(growth->doublingSteps)},
            {"first_step", growth->firstStep},
            {"last_step", growth->lastStep},
            {"points", growth->points},
            {"aic_exponential", number(growth->aicExponential)},
            {"aic_power_law", number(growth->aicPowerLaw)}};
}

/// Of the recorded probe batch: its share of flipped units per step, and at the last one per module; null without.
Json flipsJson(const StudyResults& results, const RunResult& run) {
    if (!run.reference || run.config.record.reluProbe == 0 || !run.comparison)
        return nullptr;
    const RunConfig& reference = results.runs[*run.reference].config;
    const ReluFlips flips = reluFlips(RunReader(results.folder.runFile(run.config)),
                                      RunReader(results.folder.runFile(reference)));
    if (flips.steps.empty())
        return nullptr;
    Json share = Json::array(), modules = Json::object();
    for (std::size_t row = 0; row < flips.steps.size(); ++row)
        share.push_back(number(flips.share(row)));
    for (std::size_t module = 0; module < flips.modules.size(); ++module)
        modules[flips.modules[module]] = {{"units", flips.units[module]},
                                          {"flipped", flips.at(flips.steps.size() - 1, module)}};
    return {{"steps", flips.steps}, {"share", share}, {"modules", modules}};
}

Json toJson(const Attribution& attribution) {
    Json axes = Json::array(), interactions = Json::array();
    for (const AxisEffect& effect : attribution.axes) {
        Json layers = Json::object();
        for (const AxisEffect::Layer& layer : effect.layers)
            layers[layer.name] = {{"identical", layer.identical}, {"median", number(layer.median)}};
        axes.push_back({{"axis", effect.axis},
                        {"pairs", effect.pairs},
                        {"compared", effect.compared},
                        {"identical", effect.identical},
                        {"median", number(effect.median)},
                        {"largest", number(effect.largest)},
                        {"layers", layers}});
    }
    for (const Interaction& interaction : attribution.interactions)
        interactions.push_back({{"axes", {interaction.first, interaction.second}},
                                {"example", interaction.example},
                                {"together", number(interaction.together)},
                                {"alone", number(interaction.alone)}});
    return {{"axes", axes}, {"interactions", interactions}};
}

Json toJson(const StudyResults& results, const RunResult& run) {
    Json settings = Json::object();
    for (const auto& [key, value] : run.config.settings)
        std::visit(
            [&](const auto& v) {
                if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
                    settings[key] = nullptr;
                else
                    settings[key] = v;
            },
            value);
    const bool hasRows = run.comparison && run.comparison->rows() > 0;
    // equal bits so far say nothing of a run that broke off; other bits do
    const bool isDecided = hasRows && (run.state == RunState::Finished || run.comparison->first);
    Json out = {{"id", run.config.id},
                {"settings", settings},
                {"twin", run.config.isTwin},
                {"reference", run.reference ? Json(results.runs[*run.reference].config.id) : Json(nullptr)},
                {"status", run.state ? nameOf(*run.state) : "not run"},
                {"reason", run.message.empty() ? run.comparisonProblem : run.message},
                {"steps_compared", hasRows ? run.comparison->rows() : 0},
                {"identical", isDecided ? Json(!run.comparison->first) : Json(nullptr)},
                {"first_divergence", hasRows ? firstDivergenceJson(run.comparison->first) : Json(nullptr)},
                {"final", hasRows ? finalMetrics(*run.comparison, 0) : Json(nullptr)}};
    Json layers = Json::object();
    if (hasRows)
        for (std::size_t i = 0; i < run.comparison->scopes.size(); ++i)
            if (const Scope& scope = run.comparison->scopes[i]; scope.kind == ScopeKind::Layer)
                layers[scope.name] = finalMetrics(*run.comparison, i);
    out["layers"] = layers;
    out["verdict"] = verdictJson(run.verdict);
    out["growth"] = toJson(run.growth);
    out["relu_flips"] = flipsJson(results, run);
    return out;
}

const RunResult* referenceOf(const StudyResults& results) {
    for (const RunResult& run : results.runs)
        if (run.config.isReference && !run.config.isTwin)
            return &run;
    return nullptr;
}

/// What was trained on, as the workers recorded it.
std::string dataLine(const StudyResults& results) {
    for (const RunResult& run : results.runs) {
        const Json environment = Json::parse(run.environment, nullptr, false);
        if (environment.is_object() && environment.contains("data") && environment["data"].is_string())
            return environment["data"].get<std::string>();
    }
    return "";
}

std::vector<std::string> tableRow(const RunResult& run) {
    std::vector<std::string> row{label(run.config), std::string(run.state ? nameOf(*run.state) : "not run")};
    const bool hasFailed = run.state && *run.state != RunState::Finished && *run.state != RunState::Running;
    if (hasFailed) {
        row.push_back(run.message);
    } else if (!run.reference) {
        row.emplace_back("the reference");
    } else if (!run.comparison || run.comparison->rows() == 0) {
        row.push_back(run.comparisonProblem);
    } else {
        const RunComparison& comparison = *run.comparison;
        const std::size_t last = comparison.rows() - 1;
        row.emplace_back(comparison.first ? toText(*comparison.first) : "none: bit-identical");
        // only digests say that bits differ where no weights are kept, not by how much
        const bool isKnown = !std::isnan(comparison.value(Metric::Changed, last, 0));
        for (const Metric metric : {Metric::RelativeL2, Metric::MaxAbsolute, Metric::UlpMax})
            row.push_back(isKnown ? shortNumber(comparison.value(metric, last, 0)) : "not kept");
        row.push_back(fmt::to_string(comparison.steps[last]));
        row.push_back(run.verdict.kind);
    }
    return row;
}

bool isFinished(const RunResult& run) { return run.state == RunState::Finished; }

void printReport(const StudyResults& results) {
    const Study& study = results.folder.study;
    fmt::print("{}\n", study.name);
    if (!study.description.empty())
        fmt::print("{}\n", study.description);
    if (const std::string data = dataLine(results); !data.empty())
        fmt::print("data: {}\n", data);
    fmt::print("\n");
    std::vector<std::vector<std::string>> rows{
        {"run", "state", "first difference", "rel. L2", "max |a-r|", "max ULP", "at step", "verdict"}};
    for (const RunResult& run : results.runs)
        if (!run.config.isTwin || !isFinished(run)) // finished twins speak through the verdicts
            rows.push_back(tableRow(run));
    printTable(rows);
    if (const RecordConfig& record = study.base.record; record.weights == "sample")
        fmt::print("\nDistances are of at most {} elements of each tensor, equal bits of all.\n", record.sampleSize);
}

/// "3.1e-02 per step (2.9e-02 … 3.4e-02), doubling every 22 steps"
std::string growthText(const Growth& growth) {
    if (growth.form == GrowthForm::PowerLaw)
        return fmt::format("as step^{:.2g} ({:.2g} … {:.2g})", growth.rate, growth.low, growth.high);
    return fmt::format("{:.2g} per step ({:.2g} … {:.2g}), doubling every {:.3g} steps", growth.rate, growth.low,
                       growth.high, growth.doublingSteps);
}

void printFlips(const StudyResults& results) {
    bool hasProbes = false;
    std::vector<std::vector<std::string>> rows{{"ReLU flips of the probe batch", "largest share", "at step"}};
    for (const RunResult& run : results.runs) {
        const Json flips = run.config.isTwin ? Json() : flipsJson(results, run);
        if (flips.is_null())
            continue;
        std::size_t worst = 0;
        for (std::size_t row = 0; row < flips["share"].size(); ++row)
            if (flips["share"][row] > flips["share"][worst])
                worst = row;
        hasProbes = true;
        if (const double share = flips["share"][worst].get<double>(); share > 0)
            rows.push_back({label(run.config), shortNumber(share), flips["steps"][worst].dump()});
    }
    if (!hasProbes)
        return;
    fmt::print("\n");
    if (rows.size() == 1)
        fmt::print("No ReLU of the probe batch flips in any run.\n");
    else
        printTable(rows);
}

void printGrowth(const StudyResults& results) {
    std::vector<std::vector<std::string>> rows{{"growth of the divergence", "from step", "to step", ""}};
    for (const RunResult& run : results.runs)
        if (!run.config.isTwin && run.growth && run.growth->isGrowing())
            rows.push_back({label(run.config), fmt::to_string(run.growth->firstStep),
                            fmt::to_string(run.growth->lastStep), growthText(*run.growth)});
    if (rows.size() == 1)
        return;
    fmt::print("\n");
    printTable(rows);
}

void printAttribution(const Attribution& attribution) {
    std::vector<std::vector<std::string>> rows{{"axis alone", "pairs", "bit-identical", "median rel. L2", "largest"}};
    for (const AxisEffect& effect : attribution.axes)
        if (effect.compared > 0)
            rows.push_back({effect.axis, fmt::to_string(effect.compared), fmt::to_string(effect.identical),
                            std::isnan(effect.median) ? "not kept" : shortNumber(effect.median),
                            std::isnan(effect.largest) ? "not kept" : shortNumber(effect.largest)});
    if (rows.size() == 1)
        return;
    fmt::print("\n");
    printTable(rows);
    for (const Interaction& interaction : attribution.interactions)
        fmt::print("{} and {} together: {}, alone at most {} ({})\n", interaction.first, interaction.second,
                   shortNumber(interaction.together), shortNumber(interaction.alone), interaction.example);
}

void printEvidence(const StudyResults& results) {
    for (const RunResult& run : results.runs) {
        if (run.verdict.evidence.empty())
            continue;
        fmt::print("\n{}: {}\n", label(run.config), run.verdict.kind);
        printVerdict(run.verdict);
    }
}

void report(const std::string& path, bool json, bool evidence) {
    const StudyFolder folder = openStudyFolder(path);
    const StudyResults results = loadResults(folder, availableCores());
    const Attribution attribution = attribute(results, availableCores());
    if (json) {
        Json runs = Json::array();
        for (const RunResult& run : results.runs)
            runs.push_back(toJson(results, run));
        const RunResult* reference = referenceOf(results);
        print({{"study", folder.study.name},
               {"data", dataLine(results)},
               {"reference", reference ? Json(reference->config.id) : Json(nullptr)},
               {"runs", runs},
               {"attribution", toJson(attribution)}});
        return;
    }
    printReport(results);
    printGrowth(results);
    printFlips(results);
    printAttribution(attribution);
    if (evidence)
        printEvidence(results);
}

} // namespace

void addReport(CLI::App& app, int&) {
    struct Options {
        std::string folder;
        bool json = false, evidence = false;
    };
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("report", "Where and how far each run of a study is from the reference");
    command->add_option("STUDY_DIR", options->folder, "Folder that run made")->required();
    command->add_flag("--json", options->json, "As JSON, with every metric per layer");
    command->add_flag("--evidence", options->evidence, "With what each verdict rests on");
    command->callback([options] { report(options->folder, options->json, options->evidence); });
}

} // namespace driftscope::cli
