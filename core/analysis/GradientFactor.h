// SPDX-License-Identifier: GPL-3.0-or-later
// A loss scaled by mistake: every gradient is the reference's times one number.
#pragma once

#include "analysis/RecordedEvidence.h"
#include "analysis/RunComparison.h"

#include <cstdint>
#include <vector>

namespace driftscope {

struct GradientFactor {
    double factor = 1;
    std::vector<std::int64_t> steps; ///< at which it was seen; empty: never
    bool isOnlyIncomplete = false;   ///< these were all last updates of an epoch, with fewer samples than the others
    double factorSpread = 0, cosineDistance = 0; ///< the largest at these steps
};

/// Looks at the steps before which the weights are still equal but for rounding. The first factor found, and every
/// step that has it.
GradientFactor gradientFactor(const RecordedEvidence& recorded, const RunComparison& comparison);

} // namespace driftscope
