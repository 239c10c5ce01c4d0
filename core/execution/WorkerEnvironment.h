// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "study/RunConfig.h"

#include <string>
#include <utility>
#include <vector>

namespace driftscope {

/// Environment variables that must be set before the numerical libraries of a worker load, for what
/// the run's settings ask. What no setting names is not listed: it is inherited from the user.
std::vector<std::pair<std::string, std::string>> workerEnvironment(const TrainConfig& config);

} // namespace driftscope
