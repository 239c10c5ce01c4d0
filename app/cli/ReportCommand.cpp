// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "analysis/Attribution.h"
#include "analysis/HtmlReport.h"
#include "analysis/ReluFlips.h"
#include "analysis/ReportText.h"
#include "analysis/StudyResults.h"
#include "analysis/ViewData.h"
#include "execution/RunManager.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
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
/// "problem" instead where the two can't be compared.
Json flipsJson(const StudyResults& results, const RunResult& run) {
    if (!run.reference || run.config.record.reluProbe == 0 || !run.comparison)
        return nullptr;
    const RunConfig& reference = results.runs[*run.reference].config;
    ReluFlips flips;
    try {
        flips = reluFlips(RunReader(results.folder.runFile(run.config)), RunReader(results.folder.runFile(reference)));
    } catch (const RecordingError& error) {
        return {{"problem", error.what()}};
    }
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

/// The table that a person reads in ten seconds, under the sentence that sums it up.
void printReport(const StudyResults& results) {
    const Study& study = results.folder.study;
    fmt::print("{}\n", study.name);
    if (!study.description.empty())
        fmt::print("{}\n", study.description);
    if (const std::string data = dataLine(results); !data.empty())
        fmt::print("data: {}\n", data);
    fmt::print("\n{}\n\n", summarySentence(results));
    std::vector<std::vector<std::string>> table{
        {"run", "verdict", "first difference", "rel. L2", "max |a-r|", "max ULP", "at step"}};
    for (const ReportRow& row : reportRows(results))
        table.push_back({runTitle(results.runs[row.run]), outcomeText(row), row.first,
                         distanceText(row, row.relativeL2), distanceText(row, row.maxAbsolute),
                         distanceText(row, row.ulpMax), row.step ? fmt::to_string(*row.step) : ""});
    printTable(table);
    if (const std::string note = samplingNote(results); !note.empty())
        fmt::print("\n{}\n", note);
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

/// With one axis the table of runs says the same.
void printAttribution(const Attribution& attribution) {
    std::vector<std::vector<std::string>> rows{{"axis alone", "pairs", "bit-identical", "median rel. L2", "largest"}};
    for (const AxisEffect& effect : attribution.axes)
        if (effect.compared > 0)
            rows.push_back({effect.axis, fmt::to_string(effect.compared), fmt::to_string(effect.identical),
                            std::isnan(effect.median) ? "not kept" : shortNumber(effect.median),
                            std::isnan(effect.largest) ? "not kept" : shortNumber(effect.largest)});
    if (rows.size() <= 2)
        return;
    fmt::print("\n");
    printTable(rows);
    for (const Interaction& interaction : attribution.interactions)
        fmt::print("{}\n", interactionText(interaction));
}

void printEvidence(const StudyResults& results) {
    for (const RunResult& run : results.runs) {
        if (run.verdict.evidence.empty())
            continue;
        fmt::print("\n{}: {}\n", label(run.config), run.verdict.kind);
        printVerdict(run.verdict);
    }
}

struct Options {
    std::string folder, page;
    bool json = false, evidence = false, force = false;
};

/// Before anything is read: a page takes the place of an older one, and of nothing else unless that is asked for.
void checkPage(const Options& options) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(options.page, error);
    if (!fs::exists(status))
        return;
    if (!fs::is_regular_file(status))
        throw UsageError(fmt::format("{}: is no file that a page could replace", options.page));
    std::string beginning(1024, '\0');
    std::ifstream in(options.page, std::ios::binary);
    in.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    if (!options.force && !isHtmlReport(beginning))
        throw UsageError(fmt::format("{}: exists already and is no page of driftscope's; give another name, or --force to "
                                     "replace it",
                                     options.page));
}

void writePage(const Options& options, const StudyResults& results, const Attribution& attribution) {
    std::ifstream in(results.folder.path / "study.toml", std::ios::binary);
    const HtmlReportContext context{
        .attribution = attribution,
        .studyToml = {std::istreambuf_iterator<char>(in), {}},
        .created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))};
    writeFile(options.page, htmlReport(results, context));
}

void printJson(const StudyResults& results, const Attribution& attribution) {
    Json runs = Json::array();
    for (const RunResult& run : results.runs)
        runs.push_back(toJson(results, run));
    const RunResult* reference = referenceOf(results);
    print({{"study", results.folder.study.name},
           {"data", dataLine(results)},
           {"reference", reference ? Json(reference->config.id) : Json(nullptr)},
           {"runs", runs},
           {"attribution", toJson(attribution)}});
}

void report(const Options& options) {
    const StudyFolder folder = openStudyFolder(options.folder);
    if (!options.page.empty())
        checkPage(options);
    const StudyResults results = loadResults(folder, availableCores());
    const Attribution attribution = attribute(results, availableCores());
    if (!options.page.empty())
        return writePage(options, results, attribution);
    if (options.json)
        return printJson(results, attribution);
    printReport(results);
    printGrowth(results);
    printFlips(results);
    printAttribution(attribution);
    if (options.evidence)
        printEvidence(results);
}

} // namespace

void addReport(CLI::App& app, int&) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("report", "Where and how far each run of a study is from the reference, and why");
    command->add_option("STUDY_DIR", options->folder, "Folder that run made")->required();
    auto* json = command->add_flag("--json", options->json, "As JSON, with every metric per layer");
    command->add_flag("--evidence", options->evidence, "With what each verdict rests on");
    auto* page = command->add_option("-o,--output", options->page,
                                     "Write everything as one HTML page with plots instead, to send to others");
    page->excludes(json);
    command->add_flag("--force", options->force, "Replace a file that is no such page")->needs(page);
    command->callback([options] { report(*options); });
}

} // namespace driftscope::cli
