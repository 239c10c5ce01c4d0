// SPDX-License-Identifier: GPL-3.0-or-later
// Percentiles by narrowing: the histogram says which bin holds the percentile; that bin is counted
// again in finer buckets until a bucket is one distance. Bins up to 2048 wide, which is what
// rounding gives, need one pass; memory stays constant.
#include "analysis/Divergence.h"

#include "analysis/DivergenceTotals.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace driftscope {
namespace {

constexpr std::size_t chunkSize = 4096;
constexpr int bucketBits = 11;
constexpr std::size_t bucketCount = std::size_t{1} << bucketBits;
// Neighbouring elements often fall in the same bucket; separate tables keep their increments from
// waiting for each other.
constexpr std::size_t tableCount = 4;

/// Distances first … first + span, both included.
template <typename U>
struct Range {
    U first;
    U span;
};

template <typename U>
Range<U> rangeOfBin(std::size_t bin) {
    const U first = U{1} << (bin - 1);
    if (bin == ulpBinCount - 1)
        return {first, static_cast<U>(std::numeric_limits<U>::max() - first)};
    return {first, first - 1};
}

template <typename T, typename U>
std::vector<std::uint64_t> countBuckets(std::span<const T> a, std::span<const T> r, Range<U> range,
                                        int shift) {
    std::vector<std::uint64_t> tables(tableCount * bucketCount);
    std::vector<U> offsets(chunkSize);
    for (std::size_t i = 0; i < a.size(); i += chunkSize) {
        const std::size_t n = std::min(chunkSize, a.size() - i);
        const std::size_t found = detail::collectUlps(a.data() + i, r.data() + i, n, range.first,
                                                      range.span, offsets.data());
        std::size_t k = 0;
        for (; k + tableCount <= found; k += tableCount)
            for (std::size_t table = 0; table < tableCount; ++table)
                ++tables[table * bucketCount +
                         static_cast<std::size_t>(offsets[k + table] >> shift)];
        for (; k < found; ++k)
            ++tables[static_cast<std::size_t>(offsets[k] >> shift)];
    }
    for (std::size_t table = 1; table < tableCount; ++table)
        for (std::size_t bucket = 0; bucket < bucketCount; ++bucket)
            tables[bucket] += tables[table * bucketCount + bucket];
    tables.resize(bucketCount);
    return tables;
}

/// Index of the first count that brings the running total to rank; rank becomes the rank within it.
template <typename Counts>
std::size_t locate(const Counts& counts, std::uint64_t& rank) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (rank <= counts[i])
            return i;
        rank -= counts[i];
    }
    throw std::invalid_argument("ULP percentile: the histogram is not that of these tensors");
}

std::uint64_t rankOf(double percentile, std::uint64_t count) {
    const double rank = std::ceil(percentile * static_cast<double>(count) / 100);
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rank), 1, count);
}

template <typename T>
std::uint64_t percentileOf(std::span<const T> a, std::span<const T> r,
                           const std::array<std::uint64_t, ulpBinCount>& histogram,
                           double percentile) {
    using U = typename detail::FloatBits<T>::Unsigned;
    if (a.size() != r.size())
        throw std::invalid_argument("ULP percentile: the tensors differ in size");
    if (std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0}) != a.size())
        throw std::invalid_argument("ULP percentile: the histogram is not that of these tensors");
    if (!(percentile > 0 && percentile <= 100))
        throw std::invalid_argument("ULP percentile: must be above 0 and at most 100");
    if (a.empty())
        return 0;

    std::uint64_t rank = rankOf(percentile, a.size());
    const std::size_t bin = locate(histogram, rank);
    if (bin == 0)
        return 0;
    Range<U> range = rangeOfBin<U>(bin);
    while (range.span != 0) {
        const int shift = std::max(0, static_cast<int>(std::bit_width(range.span)) - bucketBits);
        const std::size_t bucket = locate(countBuckets(a, r, range, shift), rank);
        range.first = static_cast<U>(range.first + (static_cast<U>(bucket) << shift));
        range.span = static_cast<U>((U{1} << shift) - 1);
    }
    return range.first;
}

} // namespace

std::uint64_t ulpPercentile(std::span<const float> a, std::span<const float> r,
                            const std::array<std::uint64_t, ulpBinCount>& histogram,
                            double percentile) {
    return percentileOf(a, r, histogram, percentile);
}

std::uint64_t ulpPercentile(std::span<const double> a, std::span<const double> r,
                            const std::array<std::uint64_t, ulpBinCount>& histogram,
                            double percentile) {
    return percentileOf(a, r, histogram, percentile);
}

} // namespace driftscope
