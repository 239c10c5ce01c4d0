// SPDX-License-Identifier: GPL-3.0-or-later
// How many elements lie at each ULP distance, fine enough for percentiles, and mergeable, so that those
// of a layer or a model come from the counts of its tensors.
#pragma once

#include "analysis/Divergence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace driftscope {

/// Distances below 4096 are counted one by one; larger ones in buckets whose width is 1/2048 of their
/// lower edge, so that percentiles are exact up to 4095 ULP and at most 0.05 % too low above.
class UlpCounts {
public:
    /// Adds the elements of one tensor; `divergence` is measureDivergence(a, r).
    void add(std::span<const float> a, std::span<const float> r, const Divergence& divergence);
    void add(std::span<const double> a, std::span<const double> r, const Divergence& divergence);
    void merge(const UlpCounts& part);

    /// Nearest rank: the smallest distance that at least `percent` % of the elements do not exceed.
    /// 0 if there are no elements. percent in (0, 100].
    [[nodiscard]] std::uint64_t percentile(double percent) const;

private:
    template <class T>
    void addElements(std::span<const T> a, std::span<const T> r, const Divergence& divergence);

    std::vector<std::uint64_t> m_counts; ///< as long as the largest bucket in use asks for
    std::uint64_t m_total = 0;
};

} // namespace driftscope
