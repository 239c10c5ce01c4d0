// SPDX-License-Identifier: GPL-3.0-or-later
// How a divergence grows: exponentially, as in chaos, or as a power of the step, as in a random walk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace driftscope {

enum class GrowthForm {
    Exponential, ///< log D = c + rate · step
    PowerLaw,    ///< log D = c + rate · log step
};

struct Growth {
    GrowthForm form = GrowthForm::Exponential;
    double rate = 0;              ///< per step, or the exponent
    double low = 0, high = 0;     ///< its 95 % interval
    double doublingSteps = std::numeric_limits<double>::quiet_NaN(); ///< ln 2 / rate where that is positive; exponential
    std::int64_t firstStep = 0, lastStep = 0; ///< of the window that is fitted
    std::size_t points = 0;
    double aicExponential = 0, aicPowerLaw = 0; ///< smaller is better (Akaike 1974)

    /// The interval lies above 0.
    [[nodiscard]] bool isGrowing() const { return low > 0; }
};

struct Slope {
    double slope = 0, intercept = 0, low = 0, high = 0;
};

/// Theil–Sen: the median of the slopes between all pairs of points, with Sen's 95 % interval (Sen 1968; as
/// scipy.stats.theilslopes, but for ties in y only). The intercept is the median of y − slope · x. x must rise.
Slope theilSen(std::span<const double> x, std::span<const double> y);

/// Fits the better of both forms to the rows from the first that differs to saturation. divergence: any that is 0 where
/// bits are equal; rows that are not finite are left out. saturation: twice as much as a divergence that still grows.
/// None with fewer than 5 rows in the window.
std::optional<Growth> fitGrowth(std::span<const std::int64_t> steps, std::span<const double> divergence,
                                double saturation = std::numeric_limits<double>::infinity());

} // namespace driftscope
