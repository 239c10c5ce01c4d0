// SPDX-License-Identifier: GPL-3.0-or-later
// What the numerical libraries of this process say of themselves. Those that LibTorch was not linked
// with, or that don't say, are nullopt.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace driftscope {

std::string atenIsa();                    ///< "AVX2", as LibTorch's own dispatcher reports it
std::optional<int> onednnIsa();           ///< dnnl_cpu_isa_t
std::optional<std::string> onednnVersion();
std::optional<std::string> openblasCore(); ///< "Haswell"
std::optional<std::string> openblasConfig();
std::optional<int> openblasThreads();
void setOpenblasThreads(int count);         ///< does nothing where BLAS is no OpenBLAS
std::optional<int> openmpThreads();

/// The file whose sgemm_ this process calls; "" if there is none.
std::string blasLibrary();

/// Path of the first loaded library whose file name contains the word; "" if none.
std::string loadedLibrary(std::string_view word);

/// A flag of /proc/cpuinfo.
bool cpuHasFlag(std::string_view flag);
std::string cpuInfo(std::string_view field); ///< "model name", "flags"; "" if there is none

} // namespace driftscope
