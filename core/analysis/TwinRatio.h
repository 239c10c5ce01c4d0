// SPDX-License-Identifier: GPL-3.0-or-later
// The difference of two runs beside that of their float64 twins: rounding shrinks by about 2⁻²⁹ with the unit
// roundoff, another function stays as large.
#pragma once

#include "analysis/RecordedEvidence.h"
#include "analysis/RunComparison.h"

#include <cstdint>
#include <limits>
#include <string>

namespace driftscope {

struct TwinRatio {
    bool isUsable = false;
    std::string whyNot; ///< where it is not usable
    /// D64 / D32, the median over the first rows that differ in float32 before saturation. D: relative L2 distance of
    /// the weights.
    double median = std::numeric_limits<double>::quiet_NaN();
    std::size_t rows = 0; ///< that it is the median of
    /// The same of the gradients of the first step whose gradients differ; NaN: not recorded.
    double ofGradients = std::numeric_limits<double>::quiet_NaN();
    /// The step at which the twins' distance leaps from rounding's size to that of the runs, as no growth does; −1: none.
    std::int64_t leapStep = -1;
    /// The last recorded step before a stretch without rows in which they may have leapt; −1: none.
    std::int64_t unseenAfter = -1;
};

/// DESIGN.md's thresholds: at most this for rounding, at least that for another function.
constexpr double roundingRatio = 0x1p-20, functionRatio = 0x1p-8;

/// runs: float32 against float32; twins: their float64 twins. saturation: relative distance of the weights from which on
/// two trainings have nothing in common any more. The recorded evidence may be missing.
TwinRatio twinRatio(const RunComparison& runs, const RunComparison& twins, double saturation,
                    const RecordedEvidence* recordedRuns = nullptr, const RecordedEvidence* recordedTwins = nullptr);

} // namespace driftscope
