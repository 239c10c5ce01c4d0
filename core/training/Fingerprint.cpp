// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Version.h"
#include "training/Hardware.h"
#include "training/Libraries.h"

#include <nlohmann/json.hpp>
#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <sched.h>
#include <string_view>
#include <sys/utsname.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace driftscope {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

/// The file behind a library's link, which names the version: libopenblasp-r0.3.21.so.
std::string realPath(const std::string& path) {
    std::error_code ignored;
    const std::filesystem::path real = std::filesystem::canonical(path, ignored);
    return ignored ? path : real.string();
}

/// Variables that change what numerical libraries compute, sorted by name.
Json relevantVariables() {
    constexpr std::array<std::string_view, 15> prefixes{
        "OMP_",   "GOMP_",   "KMP_",  "MKL_",    "OPENBLAS_", "GOTO_", "ATEN_", "ONEDNN_",
        "DNNL_",  "CUBLAS_", "CUDA_", "NVIDIA_", "TORCH_",    "LD_PRELOAD", "LD_LIBRARY_PATH"};
    std::map<std::string, std::string> found;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const bool isRelevant = std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
        if (const std::size_t equals = text.find('='); isRelevant && equals != std::string_view::npos)
            found.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    Json variables = Json::object();
    for (const auto& [name, value] : found)
        variables[name] = value;
    return variables;
}

Json affinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    Json cores = Json::array();
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        for (int core = 0; core < CPU_SETSIZE; ++core)
            if (CPU_ISSET(core, &set))
                cores.push_back(core);
    return cores;
}

/// The driver's own words on each GPU; CUDA's headers are not needed for it.
Json gpus() {
    Json list = Json::array();
    if (!torch::cuda::is_available())
        return list;
    FILE* query = ::popen("nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader", "r");
    for (std::array<char, 256> line{}; query && std::fgets(line.data(), line.size(), query);)
        list.push_back(std::string(line.data(), std::strcspn(line.data(), "\n")));
    if (query)
        ::pclose(query);
    return list;
}

Json flags() {
    const at::Context& context = at::globalContext();
    return {{"tf32_cublas", context.allowTF32CuBLAS()},
            {"tf32_cudnn", context.allowTF32CuDNN()},
            {"deterministic", context.deterministicAlgorithms()},
            {"deterministic_cudnn", context.deterministicCuDNN()},
            {"cudnn_benchmark", context.benchmarkCuDNN()}};
}

} // namespace

std::string environmentFingerprint() {
    utsname system{};
    ::uname(&system);
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const Json fingerprint = {
        {"program", generatorName()},
        {"host", host.data()},
        {"system", std::string(system.sysname) + " " + system.release + " " + system.machine},
        {"cpu",
         {{"model", cpuInfo("model name")},
          {"cores", std::thread::hardware_concurrency()},
          {"affinity", affinity()},
          {"flags", cpuInfo("flags")}}},
        {"libtorch",
         {{"version", TORCH_VERSION},
          {"isa", atenIsa()},
          {"cuda", torch::hasCUDA()},
          {"library", realPath(loadedLibrary("libtorch_cpu"))},
          {"build", at::show_config()}}},
        {"blas",
         {{"library", realPath(blasLibrary())},
          {"openblas", realPath(loadedLibrary("libopenblas"))},
          {"config", orNull(openblasConfig())},
          {"core", orNull(openblasCore())}}},
        {"onednn",
         {{"library", realPath(loadedLibrary("libdnnl"))},
          {"version", orNull(onednnVersion())},
          {"isa", orNull(onednnIsa())}}},
        {"openmp", {{"library", realPath(loadedLibrary("omp"))}}},
        {"threads",
         {{"intra_op", at::get_num_threads()},
          {"inter_op", at::get_num_interop_threads()},
          {"openmp", orNull(openmpThreads())},
          {"openblas", orNull(openblasThreads())}}},
        {"flags", flags()},
        {"gpus", gpus()},
        {"variables", relevantVariables()},
    };
    return fingerprint.dump();
}

} // namespace driftscope
