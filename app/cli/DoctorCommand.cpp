// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "execution/RunManager.h"
#include "execution/WorkerProcess.h"
#include "study/ByteText.h"
#include "study/DataFiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace driftscope::cli {
namespace {

/// One thing that was looked at. "note" limits what can be studied here; "bad" stops everything.
struct Check {
    std::string name, status, detail;
};

void checkWorker(std::vector<Check>& checks, Json& environment) {
    try {
        environment = Json::parse(probeWorker(findWorker()));
    } catch (const std::exception& error) {
        checks.push_back({"LibTorch", "bad", error.what()});
        return;
    }
    checks.push_back({"LibTorch", "good",
                      fmt::format("{}, kernels {}", environment["libtorch"]["version"].get<std::string>(),
                                  environment["libtorch"]["isa"].get<std::string>())});
    const auto blas = environment["blas"]["openblas"].get<std::string>();
    const Json& config = environment["blas"]["config"];
    if (blas.empty())
        checks.push_back({"BLAS", "note",
                          environment["blas"]["library"].get<std::string>() +
                              ": not OpenBLAS, so cpu_isa is unavailable; apt install libopenblas0-openmp"});
    else if (config.is_string() && config.get<std::string>().find("USE_OPENMP") == std::string::npos)
        checks.push_back({"BLAS", "note",
                          blas + ": not the OpenMP build, which alone follows the thread count; "
                                 "apt install libopenblas0-openmp"});
    else
        checks.push_back({"BLAS", "good", fmt::format("{}, core {}", blas, environment["blas"]["core"].dump())});

    const auto flags = " " + environment["cpu"]["flags"].get<std::string>() + " ";
    std::string isas = "native, default";
    if (flags.find(" avx2 ") != std::string::npos)
        isas += ", avx2";
    if (flags.find(" avx512vl ") != std::string::npos)
        isas += ", avx512";
    checks.push_back({"cpu_isa", "good", isas});
    checks.push_back({"device", environment["libtorch"]["cuda"].get<bool>() ? "good" : "note",
                      environment["libtorch"]["cuda"].get<bool>()
                          ? fmt::format("cpu and {} GPUs", environment["gpus"].size())
                          : "cpu only: this LibTorch was built without CUDA"});
}

std::vector<Check> examine(Json& environment) {
    std::vector<Check> checks;
    checkWorker(checks, environment);
    checks.push_back({"cores", "good", fmt::to_string(availableCores())});
    const bool hasFashion = !findIdxFile(dataFolder({}), "train-images", "idx3-ubyte").empty();
    checks.push_back({"Fashion-MNIST", hasFashion ? "good" : "note",
                      hasFashion ? dataFolder({}).string() : "missing; apt install dataset-fashion-mnist"});
    std::error_code error;
    const auto space = std::filesystem::space(".", error);
    if (!error)
        checks.push_back({"disk", space.available < (1U << 30) ? "note" : "good",
                          fmt::format("{} free here", byteText(static_cast<double>(space.available)))});
    return checks;
}

int doctor(bool json) {
    Json environment;
    const std::vector<Check> checks = examine(environment);
    const bool isGood =
        std::ranges::none_of(checks, [](const Check& check) { return check.status == "bad"; });
    if (json) {
        Json list = Json::array();
        for (const Check& check : checks)
            list.push_back({{"name", check.name}, {"status", check.status}, {"detail", check.detail}});
        print({{"ok", isGood}, {"checks", list}, {"environment", environment}});
    } else {
        std::vector<std::vector<std::string>> rows;
        for (const Check& check : checks)
            rows.push_back({check.status, check.name, check.detail});
        printTable(rows);
    }
    return isGood ? Done : RunsMissing;
}

} // namespace

void addDoctor(CLI::App& app, int& exitCode) {
    auto json = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("doctor", "What this machine can vary, and what is missing");
    command->add_flag("--json", *json, "As JSON, with the environment fingerprint");
    command->callback([json, &exitCode] { exitCode = doctor(*json); });
}

} // namespace driftscope::cli
