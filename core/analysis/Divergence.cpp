// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Divergence.h"

#include "analysis/DivergenceTotals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace driftscope {
namespace {

Divergence divergenceOf(const detail::DivergenceTotals& totals) {
    Divergence d;
    d.count = totals.count;
    d.squaredDifference = totals.squaredDifference;
    d.squaredReference = totals.squaredReference;
    d.squaredRun = totals.squaredRun;
    d.product = totals.product;
    d.differenceTimesSum = totals.differenceTimesSum;
    d.absoluteDifference = totals.absoluteDifference;
    d.maxAbsolute = totals.maxAbsolute;
    d.maxRelative = totals.maxRelative;
    d.ulpMax = totals.ulpMax;
    // The carry goes over first, so that the sum is rounded once.
    const std::uint64_t high = totals.ulpSumHigh + (totals.ulpSumLow >> 32);
    const std::uint64_t low = totals.ulpSumLow & 0xffffffffU;
    d.ulpSum = static_cast<double>(high) * 0x1p32 + static_cast<double>(low);
    d.changed = totals.changed;
    d.signFlips = totals.signFlips;
    d.nonfinite = totals.nonfinite;
    d.ulpHistogram = totals.ulpHistogram;
    return d;
}

template <typename T>
Divergence measure(std::span<const T> a, std::span<const T> r) {
    if (a.size() != r.size())
        throw std::invalid_argument("divergence of tensors of " + std::to_string(a.size()) +
                                    " and " + std::to_string(r.size()) +
                                    " elements: the sizes must be equal");
    detail::DivergenceTotals totals;
    detail::measureBlocks(a.data(), r.data(), a.size(), totals);
    return divergenceOf(totals);
}

double meanOver(long double sum, std::uint64_t count) {
    return count == 0 ? 0 : static_cast<double>(sum / static_cast<long double>(count));
}

} // namespace

Divergence measureDivergence(std::span<const float> a, std::span<const float> r) {
    return measure(a, r);
}

Divergence measureDivergence(std::span<const double> a, std::span<const double> r) {
    return measure(a, r);
}

void merge(Divergence& into, const Divergence& part) {
    into.count += part.count;
    into.squaredDifference += part.squaredDifference;
    into.squaredReference += part.squaredReference;
    into.squaredRun += part.squaredRun;
    into.product += part.product;
    into.differenceTimesSum += part.differenceTimesSum;
    into.absoluteDifference += part.absoluteDifference;
    into.maxAbsolute = std::max(into.maxAbsolute, part.maxAbsolute);
    into.maxRelative = std::max(into.maxRelative, part.maxRelative);
    into.ulpMax = std::max(into.ulpMax, part.ulpMax);
    into.ulpSum += part.ulpSum;
    into.changed += part.changed;
    into.signFlips += part.signFlips;
    into.nonfinite += part.nonfinite;
    for (std::size_t bin = 0; bin < ulpBinCount; ++bin)
        into.ulpHistogram[bin] += part.ulpHistogram[bin];
}

double l2(const Divergence& d) {
    return static_cast<double>(std::sqrt(d.squaredDifference));
}

double relativeL2(const Divergence& d) {
    if (d.squaredDifference == 0)
        return 0;
    // A quotient of roots: the quotient of the squares could leave the range.
    return static_cast<double>(std::sqrt(d.squaredDifference) / std::sqrt(d.squaredReference));
}

double meanAbsolute(const Divergence& d) {
    return meanOver(d.absoluteDifference, d.count);
}

// ‖â − r̂‖²/2 = (‖a − r‖² − (‖a‖ − ‖r‖)²) / (2 ‖a‖ ‖r‖): the law of cosines, less what the two
// lengths account for. ‖a‖ − ‖r‖ comes from its own sum, so that for a and r of like length nothing
// cancels, however small the angle. Where one is several times longer, the two squares are nearly
// equal and 1 − a·r/(‖a‖‖r‖) is the more exact.
double cosineDistance(const Divergence& d) {
    if (d.squaredDifference == 0)
        return 0;
    if (std::isinf(d.squaredDifference))
        return std::numeric_limits<double>::infinity();
    const long double lengthA = std::sqrt(d.squaredRun);
    const long double lengthR = std::sqrt(d.squaredReference);
    if (lengthA == 0 || lengthR == 0)
        return 1;
    const long double lengths = lengthA * lengthR;
    const long double difference = std::sqrt(d.squaredDifference);
    const long double lengthDifference = d.differenceTimesSum / (lengthA + lengthR);
    const long double distance =
        lengthDifference * lengthDifference > 2 * lengths
            ? 1 - d.product / lengths
            : (difference - lengthDifference) * (difference + lengthDifference) / (2 * lengths);
    return static_cast<double>(std::clamp(distance, 0.0L, 2.0L));
}

double ulpMean(const Divergence& d) {
    return meanOver(d.ulpSum, d.count);
}

double changedShare(const Divergence& d) {
    return meanOver(static_cast<long double>(d.changed), d.count);
}

} // namespace driftscope
