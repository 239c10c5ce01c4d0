// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a run's data are what its training takes, before anything is trained.
#pragma once

#include "study/RunConfig.h"

#include <cstdint>

namespace driftscope {

/// Reads the data as the training would and returns the number of samples. Throws StudyError that names the file and
/// what is allowed.
std::int64_t checkedSamples(const RunConfig& config);

} // namespace driftscope
