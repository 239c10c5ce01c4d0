// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Hardware.h"

#include "training/Libraries.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

namespace driftscope {
namespace {

/// What each value of cpu_isa must read back as.
struct Isa {
    std::string_view value;
    std::array<std::string_view, 2> aten; ///< "DEFAULT" was "NO AVX" before LibTorch 2
    int onednn;                           ///< dnnl_cpu_isa_t
    std::string_view openblas;
    std::string_view cpuFlag;
};
constexpr Isa isas[] = {
    {"default", {"DEFAULT", "NO AVX"}, 0x1, "Nehalem", "sse4_1"},
    {"avx2", {"AVX2", "AVX2"}, 0x7, "Haswell", "avx2"},
    {"avx512", {"AVX512", "AVX512"}, 0x27, "SkylakeX", "avx512vl"},
};

void checkIsa(const std::string& value) {
    const auto* isa = std::ranges::find(isas, value, &Isa::value);
    if (isa == std::end(isas))
        return;
    if (!cpuHasFlag(isa->cpuFlag))
        throw Unavailable(fmt::format("cpu_isa = {}: this CPU has no {}", value, isa->cpuFlag));
    if (const std::string aten = atenIsa(); aten != isa->aten[0] && aten != isa->aten[1])
        throw Unavailable(fmt::format("cpu_isa = {}: this LibTorch runs its {} kernels instead", value, aten));
    if (const std::optional<int> onednn = onednnIsa(); onednn && *onednn != isa->onednn)
        throw SettingMismatch(
            fmt::format("cpu_isa = {}: oneDNN reports {:#x}, not {:#x}", value, *onednn, isa->onednn));
    const std::optional<std::string> core = openblasCore();
    if (!core)
        throw Unavailable(fmt::format("cpu_isa = {}: the BLAS in use is not OpenBLAS with a choice of kernels; "
                                      "install libopenblas0-openmp",
                                      value));
    if (*core != isa->openblas)
        throw SettingMismatch(fmt::format("cpu_isa = {}: OpenBLAS reports {}, not {}", value, *core, isa->openblas));
}

/// What OpenBLAS was built for, to which it lowers OpenMP's count too; none: not known, or another BLAS.
std::optional<int> openblasLimit() {
    static constexpr std::string_view key = "MAX_THREADS=";
    const std::string config = openblasConfig().value_or("");
    const std::size_t found = config.find(key);
    const int limit = found == std::string::npos ? 0 : std::atoi(config.c_str() + found + key.size());
    return limit > 0 ? std::optional(limit) : std::nullopt;
}

/// OpenMP ends the process where the system refuses it a thread: asked beforehand, it is a reason.
void requireStartable(std::string_view setting, int threads) {
    std::latch release(1);
    std::vector<std::jthread> started;
    try {
        for (int i = 1; i < threads; ++i)
            started.emplace_back([&] { release.wait(); });
    } catch (const std::exception& error) {
        release.count_down();
        throw Unavailable(fmt::format("{} = {}: the system lets this process have no more than {}: {}", setting, threads,
                                      started.size() + 1, error.what()));
    }
    release.count_down();
}

void checkThreads(std::string_view setting, int threads) {
    if (const std::optional<int> limit = openblasLimit(); limit && threads > *limit)
        throw Unavailable(fmt::format("{} = {}: the BLAS in use was built for {} threads at most", setting, threads,
                                      *limit));
    if (static_cast<unsigned>(threads) > std::thread::hardware_concurrency())
        requireStartable(setting, threads);
}

void applyThreads(std::string_view setting, int threads) {
    checkThreads(setting, threads);
    at::set_num_threads(threads);
    // OpenBLAS follows OpenMP's count at its next call, not before.
    const torch::Tensor probe = torch::ones({256, 256}); // smaller ones it multiplies on one thread
    torch::mm(probe, probe);
    if (at::get_num_threads() != threads)
        throw SettingMismatch(fmt::format("{} = {}: LibTorch reports {}", setting, threads, at::get_num_threads()));
    if (const std::optional<int> openmp = openmpThreads(); openmp && *openmp != threads)
        throw SettingMismatch(fmt::format("{} = {}: OpenMP reports {}", setting, threads, *openmp));
    // nor does it take back what it had before where the count is 1, and without OpenMP it is never told
    if (const std::optional<int> blas = openblasThreads(); blas && *blas != threads)
        setOpenblasThreads(threads);
    if (const std::optional<int> blas = openblasThreads(); blas && *blas != threads)
        throw Unavailable(fmt::format("{} = {}: the BLAS in use keeps to {}{}", setting, threads, *blas,
                                      openblasConfig().value_or("").find("USE_OPENMP") == std::string::npos
                                          ? "; install libopenblas0-openmp, which follows LibTorch's count"
                                          : ""));
}

/// What this process had before any setting of ours: LibTorch's choice at its start.
int inheritedThreads() {
    static const int count = at::get_num_threads();
    return count;
}

void checkDevice(const std::string& device) {
    if (device == "cpu")
        return;
    if (!torch::cuda::is_available())
        throw Unavailable(fmt::format("device = {}: {}", device,
                                      torch::hasCUDA() ? "LibTorch has CUDA but finds no usable GPU"
                                                       : "this LibTorch was built without CUDA"));
    const int index = std::stoi(device.substr(device.find(':') + 1));
    if (const auto count = static_cast<int>(torch::cuda::device_count()); index >= count)
        throw Unavailable(fmt::format("device = {}: this machine has {} GPU{}", device, count, count == 1 ? "" : "s"));
}

/// Two tensors' worth of threads beside each other; may be set once, before any are in use.
void applyInteropThreads(int threads) {
    at::set_num_interop_threads(threads);
    if (at::get_num_interop_threads() != threads)
        throw SettingMismatch(
            fmt::format("interop_threads = {}: LibTorch reports {}", threads, at::get_num_interop_threads()));
}

/// It was loaded before this program began, if it is there.
void checkBlas(const std::string& wanted) {
    if (wanted == "system")
        return;
    std::error_code error;
    const std::filesystem::path file = std::filesystem::canonical(wanted, error);
    if (error)
        throw Unavailable(fmt::format("blas = {}: {}", wanted, error.message()));
    if (const std::string loaded = blasLibrary(); std::filesystem::weakly_canonical(loaded) != file)
        throw Unavailable(fmt::format("blas = {}: it has no sgemm_ that LibTorch would call, which is in {}", wanted,
                                      loaded.empty() ? "no library" : loaded));
}

/// What only a GPU can do must not pass for done on a CPU.
void checkGpuSettings(const TrainConfig& config) {
    if (config.device != "cpu")
        return;
    const auto refuse = [](std::string_view setting, std::string_view hint) {
        throw Unavailable(fmt::format("{}: is a setting of GPUs, and device = cpu{}", setting, hint));
    };
    if (config.tf32 == "on")
        refuse("tf32 = on", "; tf32 = emulated shows what it does");
    if (config.cudnnBenchmark)
        refuse("cudnn_benchmark = true", "");
    if (!config.cublasWorkspace.empty())
        refuse(fmt::format("cublas_workspace = {}", config.cublasWorkspace), "");
}

void applyFlags(const TrainConfig& config) {
    at::Context& context = at::globalContext();
    const bool isTf32 = config.tf32 == "on";
    context.setAllowTF32CuBLAS(isTf32);
    context.setAllowTF32CuDNN(isTf32);
    context.setDeterministicAlgorithms(config.deterministic, /*warn_only=*/false);
    context.setDeterministicCuDNN(config.deterministic);
    context.setBenchmarkCuDNN(config.cudnnBenchmark);
    if (context.allowTF32CuBLAS() != isTf32 || context.allowTF32CuDNN() != isTf32)
        throw SettingMismatch(fmt::format("tf32 = {}: LibTorch reports otherwise", config.tf32));
    if (context.deterministicAlgorithms() != config.deterministic || context.deterministicCuDNN() != config.deterministic)
        throw SettingMismatch(fmt::format("deterministic = {}: LibTorch reports otherwise", config.deterministic));
    if (context.benchmarkCuDNN() != config.cudnnBenchmark)
        throw SettingMismatch(fmt::format("cudnn_benchmark = {}: LibTorch reports otherwise", config.cudnnBenchmark));
    const char* workspace = std::getenv("CUBLAS_WORKSPACE_CONFIG");
    if (!config.cublasWorkspace.empty() && (!workspace || config.cublasWorkspace != workspace))
        throw SettingMismatch(fmt::format("cublas_workspace = {}: the environment has {}", config.cublasWorkspace,
                                          workspace ? workspace : "none"));
}

} // namespace

void applyHardware(const TrainConfig& config) {
    checkDevice(config.device);
    checkGpuSettings(config);
    checkBlas(config.blas);
    checkIsa(config.cpuIsa);
    if (config.interopThreads)
        applyInteropThreads(static_cast<int>(*config.interopThreads));
    applyFlags(config);
    inheritedThreads(); // before they change
    if (const auto threads = config.initThreads ? config.initThreads : config.threads)
        applyThreads(config.initThreads ? "init_threads" : "threads", static_cast<int>(*threads));
}

void applyTrainingThreads(const TrainConfig& config) {
    if (config.threads)
        applyThreads("threads", static_cast<int>(*config.threads));
    else if (config.initThreads)
        applyThreads("threads", inheritedThreads());
}

int threadCount() { return at::get_num_threads(); }

} // namespace driftscope
