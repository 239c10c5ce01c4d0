// SPDX-License-Identifier: GPL-3.0-or-later
// Why no remedy makes a run equal to its reference, as far as the settings tell. Pure.
#pragma once

#include "study/RunConfig.h"

#include <span>
#include <string>
#include <vector>

namespace driftscope {

struct UncuredReason {
    std::vector<std::string> axes; ///< settings that still differ and matter
    std::string text;
};

/// Both with every remedy that they can have. refusals: why the others can't be had.
UncuredReason whyUncured(const RunConfig& run, const RunConfig& reference, std::span<const std::string> refusals);

} // namespace driftscope
