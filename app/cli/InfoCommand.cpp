// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "recording/RunReader.h"
#include "recording/StudyFolder.h"
#include "study/Study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

namespace driftscope::cli {
namespace {

/// What the file keeps of the weights.
std::string keptWeights(const RunReader& reader) {
    switch (reader.weightsLevel()) {
    case WeightsLevel::Full: return "full";
    case WeightsLevel::Sample:
        return reader.config() ? fmt::format("at most {} elements of each tensor", reader.config()->record.sampleSize)
                               : "some elements of each tensor";
    case WeightsLevel::DigestOnly: break;
    }
    return reader.comparedWith().empty() ? "digests only"
                                         : fmt::format("digests, and the divergence from run {}", reader.comparedWith());
}

Json describe(const RunReader& reader) {
    const RunProgress progress = reader.progress();
    Json tensors = Json::array();
    for (const TensorInfo& tensor : reader.parameters())
        tensors.push_back({{"name", tensor.name}, {"dtype", nameOf(tensor.dtype)}, {"shape", tensor.shape}});
    return {{"file", reader.file().string()},
            {"format", reader.runId().empty() ? Json() : Json(runFormat)},
            {"run_id", reader.runId()},
            {"created", reader.created()},
            {"generator", reader.generator()},
            {"state", nameOf(progress.state)},
            {"message", reader.message()},
            {"rows", progress.rows},
            {"total_rows", reader.steps().size()},
            {"last_step", progress.rows > 0 ? Json(reader.steps()[static_cast<std::size_t>(progress.rows) - 1]) : Json()},
            {"weights", keptWeights(reader)},
            {"gradients", reader.hasGradients()},
            {"tensors", tensors},
            {"config", reader.config() ? Json::parse(driftscope::toJson(*reader.config())) : Json()},
            {"environment", Json::parse(reader.environment(), nullptr, false)}};
}

void printRun(const Json& run) {
    const auto text = [&](const char* key) { return run[key].get<std::string>(); };
    fmt::print("run file    {}\n", text("file"));
    fmt::print("run id      {}\n", text("run_id").empty() ? "none: not written by Driftscope" : text("run_id"));
    if (!text("created").empty())
        fmt::print("created     {} by {}\n", text("created"), text("generator"));
    fmt::print("state       {}, {} of {} rows, last step {}\n", text("state"), run["rows"].dump(),
               run["total_rows"].dump(), run["last_step"].dump());
    if (!text("message").empty())
        fmt::print("message     {}\n", text("message"));
    fmt::print("weights     {}\n", text("weights"));
    if (const Json& environment = run["environment"]; environment.is_object() && environment.contains("libtorch"))
        fmt::print("environment LibTorch {}, {}, {} threads, {}\n", environment["libtorch"]["version"].dump(),
                   environment["libtorch"]["isa"].dump(), environment["threads"]["intra_op"].dump(),
                   environment["cpu"]["model"].dump());
    if (const Json& environment = run["environment"]; environment.is_object() && environment.contains("data"))
        fmt::print("data        {}\n", environment["data"].get<std::string>());
    std::vector<std::vector<std::string>> rows{{"tensor", "type", "shape"}};
    for (const Json& tensor : run["tensors"])
        rows.push_back({tensor["name"].get<std::string>(), tensor["dtype"].get<std::string>(), tensor["shape"].dump()});
    printTable(rows);
}

void printStudy(const StudyFolder& folder, bool json) {
    Json runs = Json::array();
    for (const RunConfig& run : folder.runs) {
        Json entry = {{"id", run.id}, {"label", label(run)}, {"file", folder.runFile(run).string()}};
        if (std::filesystem::exists(folder.runFile(run))) {
            const RunReader reader(folder.runFile(run));
            entry["state"] = nameOf(reader.progress().state);
            entry["rows"] = reader.progress().rows;
        } else {
            entry["state"] = "not run";
            entry["rows"] = 0;
        }
        runs.push_back(entry);
    }
    if (json) {
        print({{"study", folder.study.name}, {"folder", folder.path.string()}, {"toml", toToml(folder.study)}, {"runs", runs}});
        return;
    }
    fmt::print("{}\n", toToml(folder.study));
    std::vector<std::vector<std::string>> rows{{"run", "state", "rows", "file"}};
    for (const Json& run : runs)
        rows.push_back({run["label"].get<std::string>(), run["state"].get<std::string>(), run["rows"].dump(),
                        run["file"].get<std::string>()});
    printTable(rows);
}

} // namespace

void addInfo(CLI::App& app, int&) {
    struct Options {
        std::string file;
        bool json = false;
    };
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("info", "What a run file or a study folder holds");
    command->add_option("FILE", options->file, "Run file or study folder")->required();
    command->add_flag("--json", options->json, "As JSON, with configuration and environment");
    command->callback([options] {
        if (std::filesystem::is_directory(options->file)) {
            printStudy(openStudyFolder(options->file), options->json);
            return;
        }
        const Json run = describe(RunReader(options->file));
        if (options->json)
            print(run);
        else
            printRun(run);
    });
}

} // namespace driftscope::cli
