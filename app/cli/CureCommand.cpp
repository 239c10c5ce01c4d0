// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"
#include "Interruption.h"

#include "execution/Cure.h"
#include "execution/RunManager.h"
#include "execution/WorkerProcess.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <sstream>
#include <stop_token>

namespace driftscope::cli {
namespace {

/// Searches on a thread of its own; Ctrl-C stops the runs. No second one kills: what is on the disk must go first.
std::optional<CureResult> search(const StudyFolder& folder) {
    const CureOptions options{.worker = findWorker(),
                              .cores = availableCores(),
                              .progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); }};
    return untilInterrupted([&](const std::stop_token& stop) { return findCure(folder, options, stop); });
}

Json settingsJson(const std::vector<Assignment>& settings) {
    Json json = Json::object();
    for (const auto& [key, value] : settings)
        std::visit(
            [&](const auto& v) {
                if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
                    json[key] = v;
                else
                    json[key] = nullptr;
            },
            value);
    return json;
}

void printJson(const StudyFolder& folder, const CureResult& result) {
    Json remedies = Json::array(), uncured = Json::array(), refused = Json::array(), leftOut = Json::array();
    for (const Remedy& remedy : result.remedies)
        remedies.push_back({{"key", remedy.key},
                            {"name", remedy.name},
                            {"sentence", remedy.sentence},
                            {"settings", settingsJson(remedy.settings)}});
    for (const UncuredRun& run : result.uncured)
        uncured.push_back({{"id", run.id}, {"axes", run.axes}, {"reason", run.reason}});
    for (const RefusedRemedy& remedy : result.refused)
        refused.push_back({{"key", remedy.key}, {"name", remedy.name}, {"reason", remedy.reason}});
    for (const LeftOut& run : result.leftOut)
        leftOut.push_back({{"id", run.id}, {"reason", run.reason}});
    Json slowdown = nullptr;
    if (result.secondsWithout > 0)
        slowdown = {{"factor", number(result.slowdown())},
                    {"step_seconds_without", result.secondsWithout},
                    {"step_seconds_with", result.secondsWith}};
    print({{"study", folder.study.name},
           {"identical", result.isIdentical},
           {"verified", result.isVerified},
           {"verified_steps", result.verifiedSteps},
           {"remedies", remedies},
           {"cured", result.cured},
           {"unharmed", result.unharmed},
           {"uncured", uncured},
           {"left_out", leftOut},
           {"refused", refused},
           {"slowdown", slowdown},
           {"trainings", result.trainings},
           {"set", result.prescription.overrides},
           {"toml", result.prescription.toml},
           {"environment", result.prescription.environment},
           {"python", result.prescription.python},
           {"notes", result.notes}});
}

void printIndented(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        fmt::print("{}{}\n", line.empty() ? "" : "  ", line);
}

std::string quotedForShell(const std::string& text) {
    return text.find_first_of(" '\"$`\\&;|<>()*?") == std::string::npos ? text : fmt::format("'{}'", text);
}

void printPrescription(const Prescription& prescription) {
    fmt::print("\nIn the study file:\n");
    printIndented(prescription.toml);
    fmt::print("or: driftscope-cli run STUDY");
    for (const std::string& text : prescription.overrides)
        fmt::print(" --set {}", quotedForShell(text));
    fmt::print("\n");
    if (!prescription.environment.empty()) {
        fmt::print("\nIn the environment:\n");
        for (const std::string& variable : prescription.environment)
            fmt::print("  export {}\n", quotedForShell(variable));
    }
    fmt::print("\nIn PyTorch:\n");
    printIndented(prescription.python);
}

void printCure(const CureResult& result) {
    const std::size_t differing = result.cured.size() + result.uncured.size();
    if (result.cured.empty()) {
        fmt::print("no cure: none of the {} runs that differ becomes bit-identical to its reference\n", differing);
        return;
    }
    std::vector<std::string> names;
    for (const Remedy& remedy : result.remedies)
        names.push_back(remedy.name);
    fmt::print("cure: {}\n", names.empty() ? "none needed" : fmt::format("{}", fmt::join(names, ", ")));
    for (const Remedy& remedy : result.remedies)
        fmt::print("  {}: {}\n", remedy.name, remedy.sentence);
    fmt::print("cures {} of {} runs: {}\n", result.cured.size(), differing, fmt::join(result.cured, ", "));
    fmt::print("verified: {} runs and their references trained again, weights and gradients bit-identical at every "
               "step to {}\n",
               result.cured.size() + result.unharmed.size(), result.verifiedSteps);
    if (result.secondsWithout > 0)
        fmt::print("slowdown of the reference: {:.2f} ({:.3g} → {:.3g} ms per step)\n", result.slowdown(),
                   1e3 * result.secondsWithout, 1e3 * result.secondsWith);
}

void printText(const CureResult& result) {
    for (const LeftOut& run : result.leftOut)
        fmt::print("left out: {}: {}\n", run.id, run.reason);
    if (result.isIdentical) {
        fmt::print("nothing to cure: all {} runs are bit-identical to their references at every recorded step\n",
                   result.unharmed.size());
        return;
    }
    printCure(result);
    for (const UncuredRun& run : result.uncured)
        fmt::print("not cured: {}: {}\n", run.label, run.reason);
    for (const RefusedRemedy& remedy : result.refused)
        fmt::print("not available for every run: {}: {}\n", remedy.name, remedy.reason);
    for (const std::string& note : result.notes)
        fmt::print("{}\n", note);
    if (!result.remedies.empty())
        printPrescription(result.prescription);
}

int cure(const std::string& path, bool json) {
    const StudyFolder folder = openStudyFolder(path);
    const std::optional<CureResult> result = search(folder);
    if (!result)
        return Interrupted;
    if (json)
        printJson(folder, *result);
    else
        printText(*result);
    return result->isComplete() ? Done : RunsMissing;
}

} // namespace

void addCure(CLI::App& app, int& exitCode) {
    struct Options {
        std::string folder;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    auto* command =
        app.add_subcommand("cure", "The smallest set of remedies that makes a study's runs bit-identical: exit 0 "
                                   "found and verified, 3 none, or not for every run");
    command->add_option("STUDY_DIR", options->folder, "Folder that run made")->required();
    command->add_flag("--json", options->json, "As JSON, with what to paste");
    command->callback([options, &exitCode] { exitCode = cure(options->folder, options->json); });
}

} // namespace driftscope::cli
