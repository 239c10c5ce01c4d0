// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/GradientFactor.h"

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

/// Weights this close give gradients whose directions agree well enough to read a factor from them.
constexpr double equalWeights = 1e-4;
/// One tensor's factor may be off by what rounding makes of a gradient that nearly cancels.
constexpr double largestSpread = 1e-2;
constexpr double largestCosineDistance = 1e-4;
/// Less is no mistake of scaling but rounding.
constexpr double smallestFactor = 1e-3;

/// Relative distance of the weights before this step's update; 1 where it is not known.
double distanceBefore(const RunComparison& comparison, std::int64_t step) {
    const auto before = std::ranges::find(comparison.steps, step - 1);
    if (before == comparison.steps.end())
        return 1;
    return comparison.value(Metric::RelativeL2, static_cast<std::size_t>(before - comparison.steps.begin()), 0);
}

} // namespace

GradientFactor gradientFactor(const RecordedEvidence& recorded, const RunComparison& comparison) {
    GradientFactor found;
    found.isOnlyIncomplete = true;
    for (const EvidenceRow& row : recorded.rows) {
        if (!row.gradient || !(distanceBefore(comparison, row.step) <= equalWeights))
            continue;
        const GradientEvidence& gradient = *row.gradient;
        const bool isFactor = std::abs(gradient.factor - 1) > smallestFactor && gradient.factor > 0 &&
                              gradient.factorSpread <= largestSpread && gradient.cosineDistance <= largestCosineDistance;
        if (!isFactor || (!found.steps.empty() && std::abs(gradient.factor / found.factor - 1) > smallestFactor))
            continue;
        if (found.steps.empty())
            found.factor = gradient.factor;
        found.steps.push_back(row.step);
        found.isOnlyIncomplete &= row.isIncomplete;
        found.factorSpread = std::max(found.factorSpread, gradient.factorSpread);
        found.cosineDistance = std::max(found.cosineDistance, gradient.cosineDistance);
    }
    found.isOnlyIncomplete &= !found.steps.empty();
    return found;
}

} // namespace driftscope
