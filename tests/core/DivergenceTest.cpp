// SPDX-License-Identifier: GPL-3.0-or-later
// Values computed by hand, for every field and every kind of element. DivergencePropertyTest.cpp
// has what holds for any data, DivergenceReferenceTest.cpp the comparison with NumPy.
#include "analysis/Divergence.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace driftscope {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <typename T>
Divergence measure(const std::vector<T>& a, const std::vector<T>& r) {
    return measureDivergence(std::span<const T>(a), std::span<const T>(r));
}

template <typename T>
class DivergenceTest : public testing::Test {
protected:
    using Limits = std::numeric_limits<T>;
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

    static constexpr std::uint64_t ulpOfSpecial = std::numeric_limits<Bits>::max();
    static constexpr T nan = Limits::quiet_NaN();
    static constexpr T inf = Limits::infinity();

    static T fromBits(Bits bits) { return std::bit_cast<T>(bits); }
    static T nanWithPayload(Bits payload) {
        return fromBits(std::bit_cast<Bits>(Limits::quiet_NaN()) | payload);
    }
    static void expectInfiniteDistances(const Divergence& d) {
        EXPECT_EQ(d.squaredDifference, infinity);
        EXPECT_EQ(d.absoluteDifference, infinity);
        EXPECT_EQ(d.maxAbsolute, infinity);
        EXPECT_EQ(d.maxRelative, infinity);
        EXPECT_EQ(l2(d), infinity);
        EXPECT_EQ(relativeL2(d), infinity);
        EXPECT_EQ(meanAbsolute(d), infinity);
        EXPECT_EQ(cosineDistance(d), infinity);
        EXPECT_EQ(d.ulpMax, ulpOfSpecial);
        EXPECT_EQ(d.ulpHistogram.back(), 1U);
    }
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DivergenceTest, Types);

TYPED_TEST(DivergenceTest, OrdinaryValues) {
    const Divergence d = measure<TypeParam>({1, 2, 3.5}, {1, 2.5, 3});
    EXPECT_EQ(d.count, 3U);
    EXPECT_EQ(d.squaredDifference, 0.5);
    EXPECT_EQ(d.squaredReference, 1 + 6.25 + 9);
    EXPECT_EQ(d.squaredRun, 1 + 4 + 12.25);
    EXPECT_EQ(d.product, 1 + 5 + 10.5);
    EXPECT_EQ(d.differenceTimesSum, 1.0);
    EXPECT_EQ(d.absoluteDifference, 1.0);
    EXPECT_EQ(d.maxAbsolute, 0.5);
    EXPECT_DOUBLE_EQ(d.maxRelative, 0.2);
    EXPECT_EQ(d.changed, 2U);
    EXPECT_EQ(d.signFlips, 0U);
    EXPECT_EQ(d.nonfinite, 0U);
    // 2, 2.5, 3 and 3.5 lie in [2, 4), where neighbours are two epsilons apart.
    const auto quarter =
        static_cast<std::uint64_t>(0.25 / std::numeric_limits<TypeParam>::epsilon());
    EXPECT_EQ(d.ulpMax, quarter);
    EXPECT_EQ(d.ulpSum, 2 * static_cast<double>(quarter));
    EXPECT_EQ(d.ulpHistogram[0], 1U);
    EXPECT_EQ(d.ulpHistogram[sizeof(TypeParam) == 4 ? 22 : 32], 2U);

    EXPECT_DOUBLE_EQ(l2(d), std::sqrt(0.5));
    EXPECT_DOUBLE_EQ(relativeL2(d), std::sqrt(0.5 / 16.25));
    EXPECT_DOUBLE_EQ(meanAbsolute(d), 1.0 / 3);
    EXPECT_DOUBLE_EQ(changedShare(d), 2.0 / 3);
    EXPECT_DOUBLE_EQ(ulpMean(d), 2 * static_cast<double>(quarter) / 3);
    EXPECT_NEAR(cosineDistance(d), 1 - 16.5 / std::sqrt(17.25 * 16.25), 1e-15);
}

TYPED_TEST(DivergenceTest, NoElements) {
    const Divergence d = measure<TypeParam>({}, {});
    EXPECT_EQ(d, Divergence());
    EXPECT_EQ(l2(d), 0);
    EXPECT_EQ(relativeL2(d), 0);
    EXPECT_EQ(meanAbsolute(d), 0);
    EXPECT_EQ(cosineDistance(d), 0);
    EXPECT_EQ(ulpMean(d), 0);
    EXPECT_EQ(changedShare(d), 0);
}

TYPED_TEST(DivergenceTest, SizesMustAgree) {
    EXPECT_THROW(measure<TypeParam>({1, 2}, {1}), std::invalid_argument);
    EXPECT_THROW(measure<TypeParam>({}, {1}), std::invalid_argument);
}

TYPED_TEST(DivergenceTest, ZerosOfBothSigns) {
    const Divergence d = measure<TypeParam>({-0.0, 0.0, -0.0}, {0.0, -0.0, -0.0});
    EXPECT_EQ(d.changed, 2U);
    EXPECT_EQ(d.signFlips, 0U);
    EXPECT_EQ(d.ulpMax, 0U);
    EXPECT_EQ(d.ulpHistogram[0], 3U);
    EXPECT_EQ(l2(d), 0);
    EXPECT_EQ(relativeL2(d), 0);
    EXPECT_EQ(cosineDistance(d), 0);
    EXPECT_EQ(d.maxRelative, 0);
}

TYPED_TEST(DivergenceTest, LeavingZeroIsNoSignFlip) {
    const Divergence d = measure<TypeParam>({1, -0.0, -1, 0.0, 1}, {-0.0, 1, 0.0, -1, -1});
    EXPECT_EQ(d.signFlips, 1U);
    EXPECT_EQ(d.changed, 5U);
}

TYPED_TEST(DivergenceTest, SubnormalsAreNotFlushed) {
    const TypeParam tiny = std::numeric_limits<TypeParam>::denorm_min();
    const TypeParam epsilon = std::numeric_limits<TypeParam>::epsilon();
    const Divergence d = measure<TypeParam>({-tiny, 4 * tiny}, {tiny, tiny});
    EXPECT_EQ(d.ulpMax, 3U);
    EXPECT_EQ(d.ulpSum, 5);
    EXPECT_EQ(d.ulpHistogram[2], 2U);
    EXPECT_EQ(d.signFlips, 1U);
    EXPECT_EQ(d.changed, 2U);
    EXPECT_EQ(d.maxAbsolute, 3 * static_cast<double>(tiny));
    EXPECT_EQ(d.absoluteDifference, 5 * static_cast<double>(tiny));
    EXPECT_EQ(d.maxRelative, static_cast<double>(3 * epsilon)); // over the smallest normal
    EXPECT_EQ(l2(d), static_cast<double>(std::sqrt(13.0L) * tiny));
    EXPECT_DOUBLE_EQ(relativeL2(d), std::sqrt(13.0 / 2));
    EXPECT_DOUBLE_EQ(cosineDistance(d), 1 - 3 / std::sqrt(17.0 * 2));
}

TYPED_TEST(DivergenceTest, RelativeToSmallestNormalWhereReferenceIsZero) {
    const TypeParam half = std::numeric_limits<TypeParam>::min() / 2;
    const Divergence d = measure<TypeParam>({half, 1}, {0, 1});
    EXPECT_EQ(d.maxRelative, 0.5);
}

TYPED_TEST(DivergenceTest, LargestFiniteValuesOfBothSigns) {
    const TypeParam largest = std::numeric_limits<TypeParam>::max();
    const Divergence d = measure<TypeParam>({largest}, {-largest});
    const std::uint64_t place = std::bit_cast<typename TestFixture::Bits>(largest);
    EXPECT_EQ(d.ulpMax, 2 * place);
    EXPECT_EQ(d.ulpHistogram.back(), 1U);
    EXPECT_EQ(d.signFlips, 1U);
    EXPECT_EQ(d.nonfinite, 0U);
    EXPECT_EQ(d.maxRelative, sizeof(TypeParam) == 4 ? 2 : infinity);
    EXPECT_EQ(l2(d), sizeof(TypeParam) == 4 ? 2 * static_cast<double>(largest) : infinity);
    EXPECT_DOUBLE_EQ(relativeL2(d), 2);
    EXPECT_DOUBLE_EQ(cosineDistance(d), 2);
}

TYPED_TEST(DivergenceTest, NanOnBothSidesIsEqual) {
    const auto a = std::vector<TypeParam>{this->nan, this->nanWithPayload(1), 3};
    const auto r = std::vector<TypeParam>{this->nan, this->nanWithPayload(2), 4};
    const Divergence d = measure<TypeParam>(a, r);
    EXPECT_EQ(d.changed, 2U); // the payloads, and 3 against 4
    EXPECT_EQ(d.nonfinite, 0U);
    EXPECT_EQ(d.signFlips, 0U);
    EXPECT_EQ(d.ulpHistogram[0], 2U);
    EXPECT_EQ(l2(d), 1);
    EXPECT_EQ(d.squaredReference, 16);
    EXPECT_EQ(d.squaredRun, 9);
    EXPECT_EQ(meanAbsolute(d), 1.0 / 3);
}

TYPED_TEST(DivergenceTest, NanOfAnotherSignIsEqual) {
    const Divergence d = measure<TypeParam>({this->nan}, {-this->nan});
    EXPECT_EQ(d.changed, 1U);
    EXPECT_EQ(d.signFlips, 0U);
    EXPECT_EQ(d.ulpMax, 0U);
    EXPECT_EQ(l2(d), 0);
}

TYPED_TEST(DivergenceTest, EqualInfinities) {
    const Divergence d = measure<TypeParam>({this->inf, -this->inf, 5}, {this->inf, -this->inf, 5});
    EXPECT_EQ(d.changed, 0U);
    EXPECT_EQ(d.nonfinite, 0U);
    EXPECT_EQ(d.ulpHistogram[0], 3U);
    EXPECT_EQ(d.squaredReference, 25);
    EXPECT_EQ(relativeL2(d), 0);
    EXPECT_EQ(cosineDistance(d), 0);
}

TYPED_TEST(DivergenceTest, NanAgainstFinite) {
    for (const bool inRun : {true, false}) {
        const std::vector<TypeParam> special{3, this->nan};
        const std::vector<TypeParam> finite{3, -1};
        const Divergence d = inRun ? measure(special, finite) : measure(finite, special);
        this->expectInfiniteDistances(d);
        EXPECT_EQ(d.nonfinite, 1U);
        EXPECT_EQ(d.changed, 1U);
        EXPECT_EQ(d.signFlips, 0U);
        EXPECT_EQ(d.squaredReference, inRun ? 10 : 9);
        EXPECT_EQ(d.squaredRun, inRun ? 9 : 10);
    }
}

TYPED_TEST(DivergenceTest, InfinityAgainstFinite) {
    const TypeParam largest = std::numeric_limits<TypeParam>::max();
    const Divergence d = measure<TypeParam>({this->inf}, {largest});
    EXPECT_EQ(d.ulpMax, this->ulpOfSpecial); // neighbours on the line, but not one rounding apart
    EXPECT_EQ(d.nonfinite, 1U);
    EXPECT_EQ(d.signFlips, 0U);
    EXPECT_EQ(l2(d), infinity);
    EXPECT_EQ(measure<TypeParam>({this->inf}, {-1}).signFlips, 1U);
    EXPECT_EQ(measure<TypeParam>({this->inf}, {-0.0}).signFlips, 0U);
}

TYPED_TEST(DivergenceTest, OppositeInfinities) {
    const Divergence d = measure<TypeParam>({this->inf, 2}, {-this->inf, 2});
    this->expectInfiniteDistances(d);
    EXPECT_EQ(d.nonfinite, 0U);
    EXPECT_EQ(d.signFlips, 1U);
    EXPECT_EQ(d.changed, 1U);
    EXPECT_EQ(d.squaredReference, 4);
}

TYPED_TEST(DivergenceTest, NanAgainstInfinity) {
    const Divergence d = measure<TypeParam>({this->nan, 2}, {-this->inf, 2});
    this->expectInfiniteDistances(d);
    EXPECT_EQ(d.nonfinite, 0U);
    EXPECT_EQ(d.signFlips, 0U);
}

TYPED_TEST(DivergenceTest, BothEdgesOfEveryBin) {
    using Word = typename TestFixture::Bits;
    const Word largest = std::bit_cast<Word>(std::numeric_limits<TypeParam>::max());
    std::vector<TypeParam> a;
    std::array<std::uint64_t, ulpBinCount> expected{};
    const auto add = [&](Word distance, std::size_t bin) {
        a.push_back(std::bit_cast<TypeParam>(distance)); // from +0, the bits are the distance
        ++expected[bin];
    };
    add(0, 0);
    for (std::size_t bin = 1; bin < ulpBinCount - 1; ++bin) {
        const Word first = Word{1} << (bin - 1);
        add(first, bin);
        add(std::min<Word>(2 * first - 1, largest), bin);
    }
    if (sizeof(Word) == 8) {
        add(Word{1} << 31, 32);
        add((Word{1} << 32) - 1, 32);
        add(static_cast<Word>(std::uint64_t{1} << 32), 32);
        add(largest, 32);
    }
    const std::vector<TypeParam> zeros(a.size(), TypeParam{0});
    EXPECT_EQ(measure(a, zeros).ulpHistogram, expected);
    EXPECT_EQ(measure(zeros, a).ulpHistogram, expected);
}

// float32 reaches 2^31 only across zero.
TEST(DivergenceFloatTest, LastBinStartsAt2To31) {
    const float a = std::bit_cast<float>(0x40000000U);
    const float below = std::bit_cast<float>(0xbfffffffU); // 2^30 − 1 below zero
    const float at = std::bit_cast<float>(0xc0000000U);
    EXPECT_EQ(measure<float>({a}, {below}).ulpMax, (std::uint64_t{1} << 31) - 1);
    EXPECT_EQ(measure<float>({a}, {below}).ulpHistogram[31], 1U);
    EXPECT_EQ(measure<float>({a}, {at}).ulpMax, std::uint64_t{1} << 31);
    EXPECT_EQ(measure<float>({a}, {at}).ulpHistogram[32], 1U);
}

TEST(DivergenceDoubleTest, SquaresOutsideTheRangeOfFloat64) {
    for (const double scale : {1e-320, 1e-300, 1e-200, 1e-160, 1.0, 1e160, 1e200, 1e307}) {
        const double three = 3 * scale;
        const double four = 4 * scale;
        const Divergence d = measure<double>({three, 0, 0}, {0, four, 0});
        const double tolerance = 5 * scale * 1e-15 + std::numeric_limits<double>::denorm_min();
        EXPECT_NEAR(l2(d), std::hypot(three, four), tolerance) << scale;
        EXPECT_NEAR(relativeL2(d), std::hypot(three / four, 1), 1e-15) << scale;
        EXPECT_NEAR(cosineDistance(d), 1, 1e-15) << scale;
    }
}

// A large r must not hide that the squares of small differences were lost.
TEST(DivergenceDoubleTest, SmallDifferencesOfLargeNumbers) {
    std::vector<double> r(5000, 1.0);
    std::vector<double> a = r;
    r[4321] = 0;
    a[4321] = 1e-200;
    const Divergence d = measure(a, r);
    EXPECT_DOUBLE_EQ(l2(d), 1e-200);
    EXPECT_EQ(cosineDistance(d), 0); // 1e-400 / 2 / 4999
    EXPECT_GT(d.squaredDifference, 0);
}

TEST(DivergenceDoubleTest, UlpSumOfLargeDistances) {
    const std::vector<double> a(5000, std::numeric_limits<double>::max());
    const std::vector<double> r(5000, std::numeric_limits<double>::lowest());
    const double each = static_cast<double>(2 * std::uint64_t{0x7fefffffffffffff});
    EXPECT_DOUBLE_EQ(measure(a, r).ulpSum, 5000 * each);
    EXPECT_DOUBLE_EQ(ulpMean(measure(a, r)), each);
}

TEST(DivergenceMetricsTest, OneSideZero) {
    const Divergence zeroReference = measure<float>({3, 4}, {0, 0});
    EXPECT_EQ(l2(zeroReference), 5);
    EXPECT_EQ(relativeL2(zeroReference), infinity);
    EXPECT_EQ(cosineDistance(zeroReference), 1);
    const Divergence zeroRun = measure<float>({0, 0}, {3, 4});
    EXPECT_EQ(relativeL2(zeroRun), 1);
    EXPECT_EQ(cosineDistance(zeroRun), 1);
}

TEST(DivergenceMetricsTest, CosineOfPlainAngles) {
    EXPECT_DOUBLE_EQ(cosineDistance(measure<double>({2, 0}, {0, 3})), 1);
    EXPECT_DOUBLE_EQ(cosineDistance(measure<double>({-2, -2}, {3, 3})), 2);
    EXPECT_NEAR(cosineDistance(measure<double>({5, 5}, {3, 3})), 0, 1e-16);
    EXPECT_DOUBLE_EQ(cosineDistance(measure<double>({1, 1}, {1, 0})), 1 - std::sqrt(0.5));
}

// Angles far too small for 1 − a·r/(‖a‖‖r‖), which is 0 or rounding noise below 1e-8.
TEST(DivergenceMetricsTest, CosineOfSmallAngles) {
    for (const double angle : {1e-3, 1e-6, 1e-9, 1e-12, 1e-100}) {
        const double expected = 2 * std::pow(std::sin(angle / 2), 2);
        EXPECT_NEAR(cosineDistance(measure<double>({1, angle}, {1, 0})) / expected, 1, 1e-6)
            << angle;
        EXPECT_NEAR(cosineDistance(measure<double>({1, 0}, {1, angle})) / expected, 1, 1e-6)
            << angle;
    }
}

// A run whose weights collapsed: Σ a² as Σ r² plus differenceTimesSum would have no digit left.
TEST(DivergenceMetricsTest, CosineOfVeryDifferentLengths) {
    for (const double length : {1e-3, 1e-9, 1e-30, 1e-200, 1e9, 1e200}) {
        const Divergence d = measure<double>({length, length, 0}, {1, 0, 0});
        EXPECT_NEAR(cosineDistance(d), 1 - std::sqrt(0.5), 1e-14) << length;
    }
}

} // namespace
} // namespace driftscope
