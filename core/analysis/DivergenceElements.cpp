// SPDX-License-Identifier: GPL-3.0-or-later
// The divergence of single elements, in every case that floating point knows.
#include "analysis/DivergenceTotals.h"

#include <algorithm>
#include <cmath>

namespace driftscope::detail {
namespace {

// Squares are taken in long double, whose exponent holds the square of every float64.
template <typename T>
void addFinitePair(T a, T r, DivergenceTotals& into) {
    const long double difference = static_cast<long double>(a) - static_cast<long double>(r);
    const long double sum = static_cast<long double>(a) + static_cast<long double>(r);
    into.squaredDifference += difference * difference;
    into.differenceTimesSum += difference * sum;
    into.product += static_cast<long double>(a) * static_cast<long double>(r);

    const double absolute = std::abs(static_cast<double>(a) - static_cast<double>(r));
    const double floor = std::numeric_limits<T>::min();
    into.absoluteDifference += std::abs(difference);
    into.maxAbsolute = std::max(into.maxAbsolute, absolute);
    into.maxRelative =
        std::max(into.maxRelative, absolute / std::max(std::abs(static_cast<double>(r)), floor));
}

void addInfiniteDistance(DivergenceTotals& into) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    into.squaredDifference = infinity;
    into.absoluteDifference = infinity;
    into.maxAbsolute = infinity;
    into.maxRelative = infinity;
}

template <typename T>
void addElement(T a, T r, DivergenceTotals& into) {
    using Unsigned = typename FloatBits<T>::Unsigned;
    const std::uint64_t ulp = ulpDistance(a, r);
    into.ulpMax = std::max(into.ulpMax, ulp);
    into.ulpSumLow += ulp & 0xffffffffU;
    into.ulpSumHigh += ulp >> 32;
    ++into.ulpHistogram[ulpBin(ulp)];
    into.changed += std::bit_cast<Unsigned>(a) != std::bit_cast<Unsigned>(r) ? 1 : 0;
    // False for a NaN or a zero on either side.
    into.signFlips += (a < 0 && r > 0) || (a > 0 && r < 0) ? 1 : 0;

    const bool finiteA = std::isfinite(a);
    const bool finiteR = std::isfinite(r);
    if (finiteA)
        into.squaredRun += static_cast<long double>(a) * static_cast<long double>(a);
    if (finiteR)
        into.squaredReference += static_cast<long double>(r) * static_cast<long double>(r);
    into.nonfinite += finiteA != finiteR ? 1 : 0;
    if (finiteA && finiteR)
        addFinitePair(a, r, into);
    else if (ulp != 0)
        addInfiniteDistance(into);
}

template <typename T>
void addElements(const T* a, const T* r, std::size_t n, DivergenceTotals& into) {
    into.count += n;
    for (std::size_t i = 0; i < n; ++i)
        addElement(a[i], r[i], into);
}

} // namespace

void measureElements(const float* a, const float* r, std::size_t n, DivergenceTotals& into) {
    addElements(a, r, n, into);
}

void measureElements(const double* a, const double* r, std::size_t n, DivergenceTotals& into) {
    addElements(a, r, n, into);
}

} // namespace driftscope::detail
