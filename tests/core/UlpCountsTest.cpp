// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/UlpCounts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace driftscope {
namespace {

/// Counts of pairs that are so many ULP apart: 1 and the float so many above it.
UlpCounts countsOf(const std::vector<std::uint32_t>& distances) {
    const std::vector<float> r(distances.size(), 1.0F);
    std::vector<float> a;
    for (const std::uint32_t distance : distances)
        a.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(1.0F) + distance));
    UlpCounts counts;
    counts.add(a, r, measureDivergence(std::span<const float>(a), std::span<const float>(r)));
    return counts;
}

/// Nearest rank, in integers.
template <class T>
T nearestRank(std::vector<T> sorted, std::uint64_t percent) {
    std::ranges::sort(sorted);
    const std::uint64_t rank = (percent * sorted.size() + 99) / 100;
    return sorted[rank - 1];
}

TEST(UlpCounts, NothingIsZero) {
    EXPECT_EQ(UlpCounts().percentile(50), 0U);
    EXPECT_EQ(countsOf({}).percentile(99), 0U);
    EXPECT_EQ(countsOf({0, 0, 0}).percentile(100), 0U);
}

TEST(UlpCounts, NearestRankByHand) {
    const UlpCounts counts = countsOf({0, 1, 3, 10});
    for (const auto& [percent, distance] :
         {std::pair(1, 0), {25, 0}, {26, 1}, {50, 1}, {51, 3}, {75, 3}, {76, 10}, {100, 10}})
        EXPECT_EQ(counts.percentile(percent), static_cast<std::uint64_t>(distance)) << percent;
    EXPECT_EQ(countsOf({0, 1}).percentile(50), 0U);
    EXPECT_EQ(countsOf({1, 1, 1}).percentile(1), 1U);
    std::vector<std::uint32_t> hundred(100, 2);
    hundred[7] = 5; // the 100th of 100: 99 % are at most 2
    EXPECT_EQ(countsOf(hundred).percentile(99), 2U);
    EXPECT_EQ(countsOf(hundred).percentile(99.5), 5U);
}

TEST(UlpCounts, ExactBelow4096AndAlmostAbove) {
    for (const std::uint32_t distance : {1U, 2U, 2047U, 2048U, 4094U, 4095U, 4096U})
        EXPECT_EQ(countsOf({distance}).percentile(50), distance);
    for (std::uint32_t distance = 4096; distance < 0x3f000000; distance += distance / 7 + 1) {
        const std::uint64_t found = countsOf({distance}).percentile(50);
        EXPECT_LE(found, distance);
        EXPECT_GE(static_cast<double>(found), distance * (1 - 1.0 / 2048)) << distance;
    }
}

TEST(UlpCounts, RandomDistancesAgainstSorting) {
    std::mt19937 random(3);
    for (const std::uint32_t limit : {2U, 50U, 4000U, 100000U, 500000000U}) {
        std::vector<std::uint32_t> distances(10007); // more than one block of the kernel
        for (auto& distance : distances)
            distance = random() % limit;
        const UlpCounts counts = countsOf(distances);
        for (const std::uint64_t percent : {1, 10, 50, 90, 99, 100}) {
            const auto wanted = static_cast<double>(nearestRank(distances, percent));
            const auto found = static_cast<double>(counts.percentile(static_cast<double>(percent)));
            EXPECT_LE(found, wanted);
            EXPECT_GE(found, wanted < 4096 ? wanted : wanted * (1 - 1.0 / 2048));
        }
    }
}

TEST(UlpCounts, MergedPartsAreTheWhole) {
    UlpCounts merged = countsOf({5000, 1});
    merged.merge(countsOf({0, 0, 0}));
    merged.merge(UlpCounts());
    merged.merge(countsOf({7, 70000}));
    const UlpCounts whole = countsOf({0, 0, 0, 1, 7, 5000, 70000});
    for (int percent = 1; percent <= 100; ++percent)
        EXPECT_EQ(merged.percentile(percent), whole.percentile(percent)) << percent;
    UlpCounts grown; // the other way round: the longer into the shorter
    grown.merge(countsOf({3}));
    grown.merge(countsOf({100000, 100000}));
    EXPECT_EQ(grown.percentile(1), 3U);
    EXPECT_GT(grown.percentile(100), 99950U);
}

TEST(UlpCounts, Float64AndTheLargestDistances) {
    const double one[] = {1, 1, 1};
    const double other[] = {1, std::nextafter(1, 2), std::numeric_limits<double>::quiet_NaN()};
    UlpCounts counts;
    counts.add(other, one,
               measureDivergence(std::span<const double>(other), std::span<const double>(one)));
    EXPECT_EQ(counts.percentile(33), 0U);
    EXPECT_EQ(counts.percentile(66), 1U);
    EXPECT_GE(static_cast<double>(counts.percentile(100)), 0x1p64 * (1 - 1.0 / 2048));
    UlpCounts narrow;
    const float nan[] = {std::numeric_limits<float>::quiet_NaN()}, zero[] = {0};
    narrow.add(nan, zero,
               measureDivergence(std::span<const float>(nan), std::span<const float>(zero)));
    EXPECT_GE(static_cast<double>(narrow.percentile(50)), 0x1p32 * (1 - 1.0 / 2048));
    EXPECT_LT(static_cast<double>(narrow.percentile(50)), 0x1p32);
}

} // namespace
} // namespace driftscope
