// SPDX-License-Identifier: GPL-3.0-or-later
// What the divergence kernels add up: the sums of a Divergence, kept wider until the pass is over.
#pragma once

#include "analysis/Divergence.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace driftscope::detail {

/// Bit patterns of T (float or double) as integers; a magnitude is the pattern without the sign.
template <typename T>
struct FloatBits {
    using Unsigned = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    static constexpr Unsigned magnitudeMask = std::numeric_limits<Unsigned>::max() >> 1;
    static constexpr Unsigned infinity =
        std::bit_cast<Unsigned>(std::numeric_limits<T>::infinity());
};

/// The integers are exact and the same for every SIMD width; the ULP sum is in two halves because
/// 64 bits do not hold a sum of 64-bit distances: ulpSumLow of the low 32 bits, ulpSumHigh of the
/// rest.
struct DivergenceTotals {
    long double squaredDifference = 0;
    long double squaredReference = 0;
    long double squaredRun = 0;
    long double product = 0;
    long double differenceTimesSum = 0;
    long double absoluteDifference = 0;
    double maxAbsolute = 0;
    double maxRelative = 0;
    std::uint64_t count = 0;
    std::uint64_t ulpMax = 0;
    std::uint64_t ulpSumLow = 0;
    std::uint64_t ulpSumHigh = 0;
    std::uint64_t changed = 0;
    std::uint64_t signFlips = 0;
    std::uint64_t nonfinite = 0;
    std::array<std::uint64_t, ulpBinCount> ulpHistogram{};
};

/// ULP distance as Divergence.h defines it: 0 for equal values and for NaN against NaN, the largest
/// value of the unsigned type of T's width for any other pair with a NaN or an infinity.
template <typename T>
constexpr std::uint64_t ulpDistance(T a, T r) {
    using F = FloatBits<T>;
    using U = typename F::Unsigned;
    const auto bitsA = std::bit_cast<U>(a);
    const auto bitsR = std::bit_cast<U>(r);
    const U magnitudeA = bitsA & F::magnitudeMask;
    const U magnitudeR = bitsR & F::magnitudeMask;
    if (magnitudeA >= F::infinity || magnitudeR >= F::infinity) {
        const bool bothNan = magnitudeA > F::infinity && magnitudeR > F::infinity;
        return bitsA == bitsR || bothNan ? 0 : std::numeric_limits<U>::max();
    }
    if (((bitsA ^ bitsR) & ~F::magnitudeMask) != 0)
        return magnitudeA + magnitudeR;
    return magnitudeA > magnitudeR ? magnitudeA - magnitudeR : magnitudeR - magnitudeA;
}

/// Index of the histogram bin of a distance: its number of significant bits, at most 32.
constexpr std::size_t ulpBin(std::uint64_t distance) {
    const auto width = static_cast<std::size_t>(std::bit_width(distance));
    return width < ulpBinCount ? width : ulpBinCount - 1;
}

/// Element by element, exact in every case and slow: for blocks with non-finite elements, for
/// float64 whose squares over- or underflow, and for processors without SIMD. a and r hold n
/// elements each.
void measureElements(const float* a, const float* r, std::size_t n, DivergenceTotals& into);
void measureElements(const double* a, const double* r, std::size_t n, DivergenceTotals& into);

/// The SIMD pass over n elements of a and r, at any alignment.
void measureBlocks(const float* a, const float* r, std::size_t n, DivergenceTotals& into);
void measureBlocks(const double* a, const double* r, std::size_t n, DivergenceTotals& into);

/// Writes to out, which has room for n, the offsets from `first` of those ULP distances that lie in
/// [first, first + span], in the order of the elements; returns how many.
std::size_t collectUlps(const float* a, const float* r, std::size_t n, std::uint32_t first,
                        std::uint32_t span, std::uint32_t* out);
std::size_t collectUlps(const double* a, const double* r, std::size_t n, std::uint64_t first,
                        std::uint64_t span, std::uint64_t* out);

} // namespace driftscope::detail
