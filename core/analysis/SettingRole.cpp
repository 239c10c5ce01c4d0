// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/SettingRole.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace driftscope {

SettingRole roleOf(const SettingSpec& spec) {
    // of order and order_seed the recorded sample ids say whether they change what an update sees, of the loader's
    // settings the digests of the batches
    constexpr std::array neutral{"accumulation",    "accumulator",      "threads",        "interop_threads",
                                 "init_threads",    "cpu_isa",          "blas",           "device",
                                 "deterministic",   "cudnn_benchmark",  "cublas_workspace", "loader_workers",
                                 "worker_rng",      "order",            "order_seed",     "repeat"};
    constexpr std::array precision{"dtype", "autocast", "tf32"};
    if (spec.section == "record" || (spec.section == "train" && std::ranges::find(neutral, spec.key) != neutral.end()))
        return SettingRole::Neutral;
    if (spec.section == "train" && std::ranges::find(precision, spec.key) != precision.end())
        return SettingRole::Precision;
    if ((spec.section == "train" && spec.key == "seed") || spec.key == "head_seed")
        return SettingRole::Seed;
    return SettingRole::Function;
}

std::vector<SettingDifference> settingDifferences(const RunConfig& run, const RunConfig& reference) {
    std::vector<SettingDifference> differences;
    for (const SettingSpec& spec : settingSpecs())
        if (const SettingValue value = spec.get(run), other = spec.get(reference);
            value != other && spec.key != "repeat" && spec.section != "record")
            differences.push_back(
                {roleOf(spec), fmt::format("{} ({} → {})", spec.axisKey(), toText(other), toText(value))});
    return differences;
}

bool hasBatchStatistics(const ModelConfig& model) {
    return model.batchNorm || model.kind == "resnet18" || model.kind == "resnet50";
}

} // namespace driftscope
