// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/UlpCounts.h"

#include "analysis/DivergenceTotals.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

constexpr int stepBits = 11; ///< 2048 buckets an octave
constexpr std::uint64_t exactBelow = std::uint64_t{1} << (stepBits + 1);

std::size_t bucketOf(std::uint64_t ulp) {
    if (ulp < exactBelow)
        return static_cast<std::size_t>(ulp);
    const int shift = std::bit_width(ulp) - (stepBits + 1);
    return (static_cast<std::size_t>(shift) << stepBits) + static_cast<std::size_t>(ulp >> shift);
}

/// The smallest distance of a bucket: inverse of bucketOf.
std::uint64_t lowerEdge(std::size_t bucket) {
    if (bucket < exactBelow)
        return bucket;
    const std::size_t shift = (bucket >> stepBits) - 1;
    return static_cast<std::uint64_t>(bucket - (shift << stepBits)) << shift;
}

} // namespace

template <class T>
void UlpCounts::addElements(std::span<const T> a, std::span<const T> r, const Divergence& divergence) {
    if (a.empty())
        return;
    m_total += a.size();
    const std::size_t largest = bucketOf(divergence.ulpMax);
    if (m_counts.size() <= largest)
        m_counts.resize(largest + 1, 0);
    // The histogram has counted distances 0 and 1, which are most of them where runs have just parted.
    for (std::size_t i = 0; i <= std::min<std::size_t>(largest, 1); ++i)
        m_counts[i] += divergence.ulpHistogram[i];
    if (divergence.ulpMax <= 1)
        return;
    using U = typename detail::FloatBits<T>::Unsigned;
    constexpr U first = 2;
    std::array<U, 4096> distances;
    for (std::size_t start = 0; start < a.size(); start += distances.size()) {
        const std::size_t n = std::min(distances.size(), a.size() - start);
        const std::size_t found = detail::collectUlps(a.data() + start, r.data() + start, n, first,
                                                      std::numeric_limits<U>::max() - first, distances.data());
        for (std::size_t i = 0; i < found; ++i)
            ++m_counts[bucketOf(std::uint64_t{distances[i]} + first)];
    }
}

void UlpCounts::add(std::span<const float> a, std::span<const float> r, const Divergence& divergence) {
    addElements(a, r, divergence);
}

void UlpCounts::add(std::span<const double> a, std::span<const double> r, const Divergence& divergence) {
    addElements(a, r, divergence);
}

void UlpCounts::merge(const UlpCounts& part) {
    m_total += part.m_total;
    if (m_counts.size() < part.m_counts.size())
        m_counts.resize(part.m_counts.size(), 0);
    for (std::size_t i = 0; i < part.m_counts.size(); ++i)
        m_counts[i] += part.m_counts[i];
}

std::uint64_t UlpCounts::percentile(double percent) const {
    if (m_total == 0)
        return 0;
    const double rank = std::ceil(percent * static_cast<double>(m_total) / 100);
    auto left = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, m_total);
    for (std::size_t i = 0; i < m_counts.size(); ++i) {
        if (left <= m_counts[i])
            return lowerEdge(i);
        left -= m_counts[i];
    }
    return lowerEdge(m_counts.size() - 1);
}

} // namespace driftscope
