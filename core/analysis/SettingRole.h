// SPDX-License-Identifier: GPL-3.0-or-later
// What a setting is to the mathematics of a training.
#pragma once

#include "study/RunConfig.h"

#include <string>
#include <vector>

namespace driftscope {

enum class SettingRole {
    Neutral,   ///< the same function and the same numbers, computed in another way or order
    Precision, ///< fewer or more bits
    Seed,      ///< other random numbers
    Function,  ///< another function, other data or another recipe
};

SettingRole roleOf(const SettingSpec& spec);

struct SettingDifference {
    SettingRole role;
    std::string text; ///< "threads (1 → 2)"
};

/// Every setting in which the two differ, but `repeat` and what is recorded.
std::vector<SettingDifference> settingDifferences(const RunConfig& run, const RunConfig& reference);

/// Do the network's layers couple the samples of a micro-batch? Not known of TorchScript modules.
bool hasBatchStatistics(const ModelConfig& model);

} // namespace driftscope
