// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"
#include "Interruption.h"

#include "analysis/Explanation.h"
#include "execution/Explain.h"
#include "execution/WorkerProcess.h"
#include "recording/PrivateFolder.h"
#include "recording/RunReader.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <unistd.h>

namespace driftscope::cli {
namespace {

struct Options {
    std::string a, b;
    bool json = false;
};

std::string_view stateOf(const PhaseComparison& phase) {
    if (phase.tensors.empty())
        return "not compared";
    if (phase.isIdentical())
        return "identical";
    return phase.factor() == 1 ? "differs" : "scaled";
}

Json distanceJson(const Distance& distance) {
    return {{"changed", number(distance.changed)},
            {"ulp_max", number(distance.ulpMax)},
            {"rel_l2", number(distance.relativeL2)},
            {"max_abs", number(distance.maxAbsolute)}};
}

Json tensorJson(const TensorComparison& tensor) {
    Json out{{"name", tensor.name},
             {"identical", tensor.isIdentical},
             {"only_in", tensor.onlyIn},
             {"samples", tensor.samples},
             {"samples_differing", tensor.differingSamples},
             {"factor", number(tensor.factor)}};
    out.update(distanceJson(tensor.distance));
    return out;
}

Json phasesJson(const Explanation& explanation) {
    Json phases = Json::array();
    for (const PhaseComparison& phase : explanation.phases) {
        Json tensors = Json::array();
        for (const TensorComparison& tensor : phase.tensors)
            tensors.push_back(tensorJson(tensor));
        phases.push_back({{"phase", nameOf(phase.phase)},
                          {"state", stateOf(phase)},
                          {"changed", number(phase.changed())},
                          {"ulp_max", number(phase.ulpMax())},
                          {"factor", number(phase.factor())},
                          {"note", phase.note},
                          {"tensors", tensors}});
    }
    return phases;
}

Json operatorJson(const std::optional<OperatorDifference>& op) {
    if (!op)
        return nullptr;
    Json out{{"name", op->name},
             {"module", op->module},
             {"phase", nameOf(op->phase)},
             {"number", op->position + 1},
             {"operators", op->operators},
             {"inputs", op->inputs},
             {"inputs_identical", true},
             {"arguments", {{"a", op->argumentsA}, {"b", op->argumentsB}}},
             {"random", op->isRandom()},
             {"output", op->output + 1},
             {"dtype", op->dtype},
             {"shape", op->shape}};
    out.update(distanceJson(op->distance));
    return out;
}

Json replayJson(const Explanation& explanation) {
    Json modules = Json::array();
    for (const ReplayedModule& module : explanation.replay)
        modules.push_back({{"module", module.module},
                           {"own", tensorJson(module.own)},
                           {"with_inherited", tensorJson(module.whole)}});
    return modules;
}

Json flipsJson(const std::optional<FlipShare>& flips) {
    if (!flips)
        return nullptr;
    Json modules = Json::object();
    for (const FlipShare::Module& module : flips->modules)
        modules[module.name] = {{"units", module.units}, {"flipped", module.flipped}};
    return {{"modules", modules},
            {"compared_samples", flips->comparedSamples},
            {"samples", flips->samples},
            {"share_of_gradient_difference", number(flips->ofGradient)}};
}

Json reproductionJson(const Reproduction& reproduction) {
    return {{"checked", reproduction.isChecked},
            {"reproduced", reproduction.isReproduced},
            {"first_step", reproduction.firstStep < 0 ? Json() : Json(reproduction.firstStep)}};
}

void printJson(const Explanation& explanation) {
    const bool isIdentical = explanation.isIdentical;
    const PhaseComparison* forward = explanation.find(Phase::Forward);
    print({{"identical", isIdentical},
           {"first_divergence", isIdentical ? Json()
                                            : Json{{"step", explanation.step},
                                                   {"phase", explanation.phase},
                                                   {"tensor", explanation.tensor}}},
           {"what", whatHappened(explanation)},
           {"why", whatItSays(explanation)},
           {"settings", explanation.settings},
           {"aligned", explanation.isBySample ? "by sample" : "as a whole"},
           {"forward_identical", forward && !forward->tensors.empty() ? Json(forward->isIdentical()) : Json()},
           {"operator", operatorJson(explanation.op)},
           {"no_operator", explanation.op ? "" : explanation.whyNoOperator},
           {"phases", phasesJson(explanation)},
           {"replay", replayJson(explanation)},
           {"no_replay", explanation.whyNoReplay},
           {"relu_flips", flipsJson(explanation.flips)},
           {"reproduced",
            {{"a", reproductionJson(explanation.reproductionA)}, {"b", reproductionJson(explanation.reproductionB)}}},
           {"notes", explanation.notes}});
}

std::string shortNumber(double value) { return std::isnan(value) ? "not kept" : fmt::format("{:.3g}", value); }

std::string shareText(const TensorComparison& tensor) {
    if (tensor.isIdentical)
        return "identical";
    return tensor.samples > 0 ? fmt::format("{} of {} samples", tensor.differingSamples, tensor.samples)
                              : std::string("differs");
}

void printPhases(const Explanation& explanation) {
    std::vector<std::vector<std::string>> table{{"phase", "state", "first in", "changed", "max ULP", ""}};
    for (const PhaseComparison& phase : explanation.phases) {
        const TensorComparison* first = phase.firstDifference();
        const std::string state = phase.factor() == 1 ? std::string(stateOf(phase))
                                                      : fmt::format("exactly {} times", phase.factor());
        table.push_back({std::string(nameOf(phase.phase)), state, first ? first->name : "",
                         first ? shortNumber(phase.changed()) : "", first ? shortNumber(phase.ulpMax()) : "",
                         phase.note});
    }
    fmt::print("\n");
    printTable(table);
}

void printReplay(const Explanation& explanation) {
    if (explanation.replay.empty())
        return;
    fmt::print("\nEach module of B fed what A's was fed (own), and as it ran (with what it inherits):\n");
    std::vector<std::vector<std::string>> table{
        {"module", "own", "max ULP", "rel. L2", "with inherited", "max ULP", "rel. L2"}};
    for (const ReplayedModule& module : explanation.replay) {
        std::vector<std::string> row{module.module};
        for (const TensorComparison* tensor : {&module.own, &module.whole}) {
            row.push_back(shareText(*tensor));
            row.push_back(shortNumber(tensor->distance.ulpMax));
            row.push_back(shortNumber(tensor->distance.relativeL2));
        }
        table.push_back(std::move(row));
    }
    printTable(table);
}

void printFlips(const Explanation& explanation) {
    if (!explanation.flips)
        return;
    fmt::print("\nReLU: {}\n", toText(*explanation.flips));
    for (const FlipShare::Module& module : explanation.flips->modules)
        if (module.flipped > 0)
            fmt::print("  {}: {} of {}\n", module.name, module.flipped, module.units);
}

void printText(const Explanation& explanation) {
    fmt::print("{}\n", whatHappened(explanation));
    if (!explanation.isIdentical)
        fmt::print("{}\n", whatItSays(explanation));
    if (!explanation.phases.empty()) {
        printPhases(explanation);
        if (explanation.step > 0)
            fmt::print("\nforward: {}{}\n", forwardState(explanation),
                       explanation.isBySample ? " (aligned by the samples' ids)" : "");
        if (!explanation.op)
            fmt::print("operator: {}\n", explanation.whyNoOperator);
    }
    printReplay(explanation);
    printFlips(explanation);
    for (const std::string& note : explanation.notes)
        fmt::print("note: {}\n", note);
}

int explainCommand(const Options& options) {
    const RunReader a(options.a), b(options.b);
    const PrivateFolder folder(std::filesystem::temp_directory_path(), "driftscope-explain");
    const bool isTerminal = ::isatty(STDERR_FILENO) != 0;
    const ExplainOptions settings{.worker = findWorker(), .folder = folder.path(), .say = [&](const std::string& text) {
                                      if (isTerminal)
                                          fmt::print(stderr, "{}\n", text);
                                  }};
    const std::optional<Explanation> explanation =
        untilInterrupted([&](const std::stop_token& stop) { return explain(a, b, settings, stop); });
    if (!explanation)
        return Interrupted;
    if (options.json)
        printJson(*explanation);
    else
        printText(*explanation);
    return !explanation->isIdentical && explanation->phases.empty() ? RunsMissing : Done;
}

} // namespace

void addExplain(CLI::App& app, int& exitCode) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand(
        "explain", "Train two recorded runs again to the first step in which they differ, and say where they part");
    command->add_option("A", options->a, "Run file, the reference")->required();
    command->add_option("B", options->b, "Run file that parts from it")->required();
    command->add_flag("--json", options->json, "Every phase, tensor and module as JSON");
    command->callback([options, &exitCode] { exitCode = explainCommand(*options); });
}

} // namespace driftscope::cli
