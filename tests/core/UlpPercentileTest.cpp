// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Divergence.h"
#include "analysis/DivergenceTotals.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace driftscope {
namespace {

template <typename T>
std::uint64_t percentile(const std::vector<T>& a, const std::vector<T>& r, double p) {
    const std::span<const T> spanA(a);
    const std::span<const T> spanR(r);
    return ulpPercentile(spanA, spanR, measureDivergence(spanA, spanR).ulpHistogram, p);
}

template <typename T>
class UlpPercentileTest : public testing::Test {
protected:
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

    // From +0, the bits of a positive number are its distance.
    static std::vector<T> atDistances(const std::vector<std::uint64_t>& distances) {
        std::vector<T> values;
        for (const std::uint64_t distance : distances)
            values.push_back(std::bit_cast<T>(static_cast<Word>(distance)));
        return values;
    }
    static std::vector<T> zeros(std::size_t n) { return std::vector<T>(n, T{0}); }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(UlpPercentileTest, Types);

TYPED_TEST(UlpPercentileTest, NearestRank) {
    const auto a = this->atDistances({40, 15, 50, 20, 35}); // 15 20 35 40 50
    const auto r = this->zeros(5);
    EXPECT_EQ(percentile(a, r, 1), 15U);
    EXPECT_EQ(percentile(a, r, 20), 15U);
    EXPECT_EQ(percentile(a, r, 20.001), 20U);
    EXPECT_EQ(percentile(a, r, 30), 20U);
    EXPECT_EQ(percentile(a, r, 40), 20U);
    EXPECT_EQ(percentile(a, r, 50), 35U);
    EXPECT_EQ(percentile(a, r, 99), 50U);
    EXPECT_EQ(percentile(a, r, 100), 50U);
}

TYPED_TEST(UlpPercentileTest, NearestRankOfAHundred) {
    std::vector<std::uint64_t> distances;
    for (std::uint64_t i = 1; i <= 100; ++i)
        distances.push_back(i * 1000);
    const auto a = this->atDistances(distances);
    for (std::uint64_t i = 1; i <= 100; ++i)
        EXPECT_EQ(percentile(a, this->zeros(100), static_cast<double>(i)), i * 1000);
}

TYPED_TEST(UlpPercentileTest, EmptyAndIdentical) {
    EXPECT_EQ(percentile<TypeParam>({}, {}, 50), 0U);
    EXPECT_EQ(percentile<TypeParam>({1, 2, 3}, {1, 2, 3}, 100), 0U);
    EXPECT_EQ(percentile<TypeParam>({-0.0}, {0.0}, 100), 0U);
}

TYPED_TEST(UlpPercentileTest, LargestDistances) {
    const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
    const TypeParam largest = std::numeric_limits<TypeParam>::max();
    const std::uint64_t across =
        2 * std::uint64_t{std::bit_cast<typename TestFixture::Word>(largest)};
    const std::vector<TypeParam> a{nan, nan, largest, 1};
    const std::vector<TypeParam> r{nan, 1, -largest, 1};
    EXPECT_EQ(percentile(a, r, 50), 0U);
    EXPECT_EQ(percentile(a, r, 75), across);
    EXPECT_EQ(percentile(a, r, 100), std::numeric_limits<typename TestFixture::Word>::max());
}

TYPED_TEST(UlpPercentileTest, BySortingOnEveryInstructionSet) {
    constexpr unsigned wordBits = 8 * sizeof(TypeParam);
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    std::mt19937_64 random(3);
    for (const unsigned bits : {1U, 2U, 5U, 11U, 14U, 22U, 30U, 52U, 62U}) {
        if (bits > wordBits - 2)
            continue;
        std::vector<std::uint64_t> distances(5003);
        for (auto& distance : distances)
            distance = random() >> (64 - bits);
        const auto a = this->atDistances(distances);
        const auto r = this->zeros(a.size());
        std::sort(distances.begin(), distances.end());
        for (const std::int64_t target : targets) {
            SCOPED_TRACE(hwy::TargetName(target));
            hwy::SetSupportedTargetsForTest(target);
            for (const double p : {0.001, 10.0, 50.0, 99.0, 99.99, 100.0}) {
                const double rank = std::ceil(p * static_cast<double>(a.size()) / 100);
                EXPECT_EQ(percentile(a, r, p), distances[static_cast<std::size_t>(rank) - 1])
                    << bits << " bits, " << p << " %";
            }
            hwy::SetSupportedTargetsForTest(0);
        }
    }
}

// What the passes over one bin are made of.
TYPED_TEST(UlpPercentileTest, CollectedDistancesOnEveryInstructionSet) {
    using Limits = std::numeric_limits<TypeParam>;
    const std::vector<TypeParam> values{0,
                                        -0.0,
                                        1,
                                        -1,
                                        Limits::denorm_min(),
                                        Limits::max(),
                                        -Limits::max(),
                                        Limits::infinity(),
                                        Limits::quiet_NaN(),
                                        -Limits::quiet_NaN(),
                                        -Limits::infinity(),
                                        1 + Limits::epsilon()};
    std::vector<TypeParam> a;
    std::vector<TypeParam> r;
    for (std::size_t i = 0; i < 7 * values.size(); ++i)
        for (const TypeParam value : values) {
            a.push_back(values[i % values.size()]);
            r.push_back(value);
        }
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const auto largest = std::numeric_limits<typename TestFixture::Word>::max();
    const auto two = static_cast<typename TestFixture::Word>(2);
    for (const std::int64_t target : targets) {
        SCOPED_TRACE(hwy::TargetName(target));
        for (const auto first : {largest - largest, two}) {
            for (const auto span : {two, static_cast<decltype(two)>(largest - first)}) {
                std::vector<typename TestFixture::Word> expected;
                for (std::size_t i = 0; i < a.size(); ++i) {
                    const std::uint64_t ulp = detail::ulpDistance(a[i], r[i]);
                    if (ulp >= first && ulp - first <= span)
                        expected.push_back(static_cast<decltype(two)>(ulp - first));
                }
                std::vector<typename TestFixture::Word> found(a.size());
                hwy::SetSupportedTargetsForTest(target);
                found.resize(
                    detail::collectUlps(a.data(), r.data(), a.size(), first, span, found.data()));
                hwy::SetSupportedTargetsForTest(0);
                EXPECT_EQ(found, expected);
            }
        }
    }
}

TYPED_TEST(UlpPercentileTest, WhatIsRefused) {
    const std::vector<TypeParam> a{1, 2};
    const std::span<const TypeParam> span(a);
    const auto histogram = measureDivergence(span, span).ulpHistogram;
    EXPECT_THROW(ulpPercentile(span, span, histogram, 0), std::invalid_argument);
    EXPECT_THROW(ulpPercentile(span, span, histogram, 100.5), std::invalid_argument);
    EXPECT_THROW(ulpPercentile(span, span, histogram, std::nan("")), std::invalid_argument);
    EXPECT_THROW(ulpPercentile(span.first(1), span, histogram, 50), std::invalid_argument);
    EXPECT_THROW(ulpPercentile(span.first(1), span.first(1), histogram, 50), std::invalid_argument);
}

} // namespace
} // namespace driftscope
