// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Hardware.h"

#include "training/Libraries.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <string_view>

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

void applyThreads(int threads) {
    at::set_num_threads(threads);
    // OpenBLAS follows OpenMP's count at its next call, not before.
    const torch::Tensor probe = torch::ones({256, 256}); // smaller ones it multiplies on one thread
    torch::mm(probe, probe);
    if (at::get_num_threads() != threads)
        throw SettingMismatch(fmt::format("threads = {}: LibTorch reports {}", threads, at::get_num_threads()));
    if (const std::optional<int> openmp = openmpThreads(); openmp && *openmp != threads)
        throw SettingMismatch(fmt::format("threads = {}: OpenMP reports {}", threads, *openmp));
    if (const std::optional<int> blas = openblasThreads(); blas && *blas != threads)
        throw Unavailable(fmt::format("threads = {}: the BLAS in use keeps to {}{}", threads, *blas,
                                      openblasConfig().value_or("").find("USE_OPENMP") == std::string::npos
                                          ? "; install libopenblas0-openmp, which follows LibTorch's count"
                                          : ""));
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

} // namespace

void applyHardware(const TrainConfig& config) {
    checkDevice(config.device);
    checkIsa(config.cpuIsa);
    if (config.threads)
        applyThreads(static_cast<int>(*config.threads));
}

int threadCount() { return at::get_num_threads(); }

} // namespace driftscope
