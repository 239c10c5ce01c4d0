// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/WorkerEnvironment.h"

#include <cstdlib>

namespace driftscope {

std::vector<std::pair<std::string, std::string>> workerEnvironment(const TrainConfig& config) {
    std::vector<std::pair<std::string, std::string>> variables;
    if (config.threads) {
        const std::string count = std::to_string(*config.threads);
        for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
            variables.emplace_back(name, count);
        // would let OpenMP hand out fewer threads than asked for
        variables.emplace_back("OMP_DYNAMIC", "false");
    }
    // How threads wait changes no bit, but spinning ones starve each other when anything else wants a
    // core: measured, a run on 2 threads of 2 busy cores took 12.6 s spinning and 2.6 s sleeping.
    if (!std::getenv("OMP_WAIT_POLICY"))
        variables.emplace_back("OMP_WAIT_POLICY", "passive");
    struct Isa {
        const char *value, *aten, *onednn, *openblas;
    };
    static constexpr Isa isas[] = {{"default", "default", "SSE41", "Nehalem"},
                                   {"avx2", "avx2", "AVX2", "Haswell"},
                                   {"avx512", "avx512", "AVX512_CORE", "SkylakeX"}};
    for (const Isa& isa : isas)
        if (config.cpuIsa == isa.value) {
            variables.emplace_back("ATEN_CPU_CAPABILITY", isa.aten);
            variables.emplace_back("ONEDNN_MAX_CPU_ISA", isa.onednn);
            variables.emplace_back("DNNL_MAX_CPU_ISA", isa.onednn);
            variables.emplace_back("OPENBLAS_CORETYPE", isa.openblas);
        }
    if (!config.cublasWorkspace.empty())
        variables.emplace_back("CUBLAS_WORKSPACE_CONFIG", config.cublasWorkspace);
    if (config.blas != "system") { // its symbols come before those of the library that LibTorch was linked with
        const char* others = std::getenv("LD_PRELOAD");
        variables.emplace_back("LD_PRELOAD", others && *others ? config.blas + ":" + others : config.blas);
    }
    return variables;
}

} // namespace driftscope
