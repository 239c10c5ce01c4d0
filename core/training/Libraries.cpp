// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Libraries.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <dlfcn.h>
#include <fstream>
#include <link.h>
#include <sstream>

namespace driftscope {
namespace {

/// A C function that some library of this process may export.
template <class Function>
Function* exported(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

std::optional<int> callInt(const char* name) {
    if (auto* function = exported<int()>(name))
        return function();
    return std::nullopt;
}

std::optional<std::string> callText(const char* name) {
    auto* function = exported<const char*()>(name);
    const char* text = function ? function() : nullptr;
    return text ? std::optional<std::string>(text) : std::nullopt;
}

} // namespace

std::string atenIsa() {
    // The call of its own is newer than the oldest LibTorch supported; this text is in all of them.
    const std::string config = at::show_config();
    constexpr std::string_view title = "CPU capability usage: ";
    const std::size_t start = config.find(title);
    if (start == std::string::npos)
        return "unknown";
    return config.substr(start + title.size(), config.find('\n', start) - start - title.size());
}

std::optional<int> onednnIsa() { return callInt("dnnl_get_effective_cpu_isa"); }

std::optional<std::string> onednnVersion() {
    struct Version { // the first fields of dnnl_version_t, which have not changed since 1.0
        int major, minor, patch;
    };
    auto* function = exported<const Version*()>("dnnl_version");
    if (!function)
        return std::nullopt;
    const Version* version = function();
    return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::optional<std::string> openblasCore() { return callText("openblas_get_corename"); }
std::optional<std::string> openblasConfig() { return callText("openblas_get_config"); }
std::optional<int> openblasThreads() { return callInt("openblas_get_num_threads"); }
void setOpenblasThreads(int count) {
    if (auto* function = exported<void(int)>("openblas_set_num_threads"))
        function(count);
}
std::optional<int> openmpThreads() { return callInt("omp_get_max_threads"); }

std::string blasLibrary() {
    Dl_info info{};
    void* function = ::dlsym(RTLD_DEFAULT, "sgemm_");
    return function && ::dladdr(function, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

std::string loadedLibrary(std::string_view word) {
    struct Search {
        std::string_view word;
        std::string found;
    } search{word, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& state = *static_cast<Search*>(data);
            const std::string_view path = info->dlpi_name;
            if (path.substr(path.rfind('/') + 1).find(state.word) == std::string_view::npos)
                return 0;
            state.found = path;
            return 1;
        },
        &search);
    return search.found;
}

std::string cpuInfo(std::string_view field) {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(field))
            if (const std::size_t colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "";
}

bool cpuHasFlag(std::string_view flag) {
    std::istringstream flags(cpuInfo("flags"));
    for (std::string word; flags >> word;)
        if (word == flag)
            return true;
    return false;
}

} // namespace driftscope
