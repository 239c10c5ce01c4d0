// SPDX-License-Identifier: GPL-3.0-or-later
// What holds for any data, whatever its size, alignment and blocks, and on every instruction set.
#include "analysis/Divergence.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace driftscope {
namespace {

template <typename T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <typename T>
struct Pair {
    std::vector<T> a;
    std::vector<T> r;
};

enum class Kind { Identical, Near, Relative, Unrelated, SignedZeros, Special, Extreme };
constexpr Kind allKinds[] = {Kind::Identical,   Kind::Near,    Kind::Relative, Kind::Unrelated,
                             Kind::SignedZeros, Kind::Special, Kind::Extreme};

template <typename T>
T runValue(Kind kind, T r, std::mt19937_64& random) {
    std::normal_distribution<double> normal(0, 1);
    const auto bits = std::bit_cast<Bits<T>>(r);
    switch (kind) {
    case Kind::Near:
        return std::bit_cast<T>(static_cast<Bits<T>>(bits + random() % 5 - 2));
    case Kind::Relative:
        return static_cast<T>(r * (1 + 1e-3 * normal(random)));
    case Kind::Unrelated:
        return static_cast<T>(normal(random));
    case Kind::SignedZeros:
        return random() % 3 == 0 ? T{-0.0} : random() % 3 == 0 ? T{0} : r;
    case Kind::Special:
    case Kind::Extreme: {
        const auto pattern = std::bit_cast<T>(static_cast<Bits<T>>(random()));
        return kind == Kind::Special || std::isfinite(pattern) ? pattern : T{1};
    }
    case Kind::Identical:
        break;
    }
    return r;
}

template <typename T>
void append(Pair<T>& pair, Kind kind, std::size_t n, std::mt19937_64& random) {
    std::normal_distribution<double> normal(0, 0.1);
    for (std::size_t i = 0; i < n; ++i) {
        T r = static_cast<T>(normal(random));
        if (kind == Kind::SignedZeros)
            r = random() % 2 == 0 ? T{-0.0} : T{0};
        else if (kind == Kind::Special || kind == Kind::Extreme)
            r = runValue(kind, r, random);
        const bool same = random() % 4 == 0;
        pair.r.push_back(r);
        pair.a.push_back(same ? r : runValue(kind, r, random));
    }
}

template <typename T>
Pair<T> makePair(Kind kind, std::size_t n, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Pair<T> pair;
    append(pair, kind, n, random);
    return pair;
}

// Stretches of every kind, so that blocks of one kind follow blocks of another, and share blocks.
template <typename T>
Pair<T> makeMixture(bool finite, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Pair<T> pair;
    for (int i = 0; i < 24; ++i) {
        Kind kind = allKinds[random() % std::size(allKinds)];
        if (finite && kind == Kind::Special)
            kind = Kind::Near;
        append(pair, kind, random() % 5000, random);
    }
    return pair;
}

// By the definition, element by element.
template <typename T>
Divergence measureSlowly(std::span<const T> a, std::span<const T> r) {
    Divergence d;
    d.count = a.size();
    long double absolute = 0;
    long double ulpSum = 0;
    // The ordered integer line, as offsets from the most negative number.
    const auto place = [](T x) {
        const Bits<T> top = ~(std::numeric_limits<Bits<T>>::max() >> 1);
        const Bits<T> bits = std::bit_cast<Bits<T>>(x);
        return static_cast<Bits<T>>((bits & top) != 0 ? top - (bits ^ top) : top + bits);
    };
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool equal = a[i] == r[i] || (std::isnan(a[i]) && std::isnan(r[i]));
        const bool finite = std::isfinite(a[i]) && std::isfinite(r[i]);
        const long double difference =
            equal    ? 0
            : finite ? static_cast<long double>(a[i]) - static_cast<long double>(r[i])
                     : std::numeric_limits<long double>::infinity();
        d.squaredDifference += difference * difference;
        if (std::isfinite(r[i]))
            d.squaredReference += static_cast<long double>(r[i]) * r[i];
        if (std::isfinite(a[i]))
            d.squaredRun += static_cast<long double>(a[i]) * a[i];
        if (finite)
            d.product += static_cast<long double>(a[i]) * r[i];
        if (finite)
            d.differenceTimesSum += difference * (static_cast<long double>(a[i]) + r[i]);
        const long double size = std::abs(difference);
        const auto floor = static_cast<long double>(std::numeric_limits<T>::min());
        absolute += size;
        d.maxAbsolute = std::max(d.maxAbsolute, static_cast<double>(size));
        const long double base =
            finite ? std::max(std::abs(static_cast<long double>(r[i])), floor) : 1.0L;
        d.maxRelative = std::max(d.maxRelative, static_cast<double>(size / base));
        const Bits<T> pa = place(a[i]);
        const Bits<T> pr = place(r[i]);
        const std::uint64_t ulp = equal     ? 0
                                  : !finite ? std::numeric_limits<Bits<T>>::max()
                                            : std::max(pa, pr) - std::min(pa, pr);
        d.ulpMax = std::max(d.ulpMax, ulp);
        ulpSum += static_cast<long double>(ulp);
        std::size_t bin = 0;
        while (bin < ulpBinCount - 1 && (ulp >> bin) != 0)
            ++bin;
        ++d.ulpHistogram[bin];
        d.changed += std::bit_cast<Bits<T>>(a[i]) != std::bit_cast<Bits<T>>(r[i]) ? 1 : 0;
        const bool nonzeroNumbers =
            a[i] != 0 && r[i] != 0 && !std::isnan(a[i]) && !std::isnan(r[i]);
        d.signFlips += nonzeroNumbers && std::signbit(a[i]) != std::signbit(r[i]) ? 1 : 0;
        d.nonfinite += std::isfinite(a[i]) != std::isfinite(r[i]) ? 1 : 0;
    }
    d.absoluteDifference = absolute;
    d.ulpSum = static_cast<double>(ulpSum);
    return d;
}

void expectSameIntegers(const Divergence& x, const Divergence& y) {
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.ulpMax, y.ulpMax);
    EXPECT_EQ(x.changed, y.changed);
    EXPECT_EQ(x.signFlips, y.signFlips);
    EXPECT_EQ(x.nonfinite, y.nonfinite);
    EXPECT_EQ(x.ulpHistogram, y.ulpHistogram);
}

// Relative to `scale`; infinities must be equal.
void expectClose(long double x, long double y, long double scale, const char* what) {
    if (x == y)
        return;
    EXPECT_LE(std::abs(x - y), 1e-13L * scale) << what << ": " << x << " and " << y;
}

void expectSame(const Divergence& x, const Divergence& y) {
    expectSameIntegers(x, y);
    expectClose(x.ulpSum, y.ulpSum, y.ulpSum, "ulpSum");
    expectClose(x.squaredDifference, y.squaredDifference, y.squaredDifference, "squaredDifference");
    expectClose(x.squaredReference, y.squaredReference, y.squaredReference, "squaredReference");
    expectClose(x.squaredRun, y.squaredRun, y.squaredRun, "squaredRun");
    expectClose(x.product, y.product, y.squaredReference + y.squaredRun, "product");
    expectClose(x.differenceTimesSum, y.differenceTimesSum, y.squaredReference + y.squaredRun,
                "differenceTimesSum");
    expectClose(x.absoluteDifference, y.absoluteDifference, y.absoluteDifference,
                "absoluteDifference");
    EXPECT_EQ(x.maxAbsolute, y.maxAbsolute);
    expectClose(x.maxRelative, y.maxRelative, y.maxRelative, "maxRelative");
}

template <typename T>
Divergence measure(const Pair<T>& pair) {
    return measureDivergence(std::span<const T>(pair.a), std::span<const T>(pair.r));
}

template <typename T>
class DivergencePropertyTest : public testing::Test {};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(DivergencePropertyTest, Types);

TYPED_TEST(DivergencePropertyTest, NothingDivergesFromItself) {
    for (const Kind kind : allKinds) {
        Pair<TypeParam> pair = makePair<TypeParam>(kind, 10001, 1);
        pair.a = pair.r;
        const Divergence d = measure(pair);
        Divergence expected;
        expected.count = 10001;
        expected.ulpHistogram[0] = 10001;
        expected.squaredReference = d.squaredReference;
        expected.squaredRun = d.squaredReference;
        expected.product = d.squaredReference;
        EXPECT_EQ(d, expected);
    }
}

TYPED_TEST(DivergencePropertyTest, EverySizeByTheDefinition) {
    for (const Kind kind : allKinds) {
        const Pair<TypeParam> pair = makePair<TypeParam>(kind, 4500, 2);
        std::vector<std::size_t> sizes{511,  512,  513,  1023, 2047, 2048,
                                       2049, 4095, 4096, 4097, 4500};
        for (std::size_t n = 0; n <= 300; n += n < 70 ? 1 : 23)
            sizes.push_back(n);
        for (const std::size_t n : sizes) {
            SCOPED_TRACE(n);
            const std::span<const TypeParam> a(pair.a.data(), n);
            const std::span<const TypeParam> r(pair.r.data(), n);
            expectSame(measureDivergence(a, r), measureSlowly(a, r));
        }
    }
}

TYPED_TEST(DivergencePropertyTest, MixedBlocksByTheDefinition) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        const Pair<TypeParam> pair = makeMixture<TypeParam>(seed % 2 == 0, seed);
        expectSame(measure(pair), measureSlowly(std::span<const TypeParam>(pair.a),
                                                std::span<const TypeParam>(pair.r)));
    }
}

// Also shows that nothing outside the spans is read as data: what surrounds them is NaN.
TYPED_TEST(DivergencePropertyTest, AlignmentChangesNothing) {
    const Pair<TypeParam> pair = makeMixture<TypeParam>(true, 7);
    const std::size_t n = pair.a.size();
    const Divergence expected = measure(pair);
    for (const std::size_t offsetA : {0, 1, 3, 16}) {
        for (const std::size_t offsetR : {0, 1, 5}) {
            const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
            std::vector<TypeParam> a(n + 64, nan);
            std::vector<TypeParam> r(n + 64, nan);
            std::copy(pair.a.begin(), pair.a.end(), a.data() + offsetA);
            std::copy(pair.r.begin(), pair.r.end(), r.data() + offsetR);
            EXPECT_EQ(measureDivergence(std::span<const TypeParam>(a.data() + offsetA, n),
                                        std::span<const TypeParam>(r.data() + offsetR, n)),
                      expected);
        }
    }
}

TYPED_TEST(DivergencePropertyTest, SidesSwapped) {
    for (const bool finite : {true, false}) {
        const Pair<TypeParam> pair = makeMixture<TypeParam>(finite, 11);
        const Divergence d = measure(pair);
        Divergence swapped = measure(Pair<TypeParam>{pair.r, pair.a});
        EXPECT_GT(d.signFlips, 0U);
        std::swap(swapped.squaredReference, swapped.squaredRun);
        swapped.differenceTimesSum = -swapped.differenceTimesSum;
        swapped.maxRelative = d.maxRelative; // the one that is not symmetric
        expectSame(swapped, d);
    }
}

TYPED_TEST(DivergencePropertyTest, PartsMergeToTheWhole) {
    for (const bool finite : {true, false}) {
        const Pair<TypeParam> pair = makeMixture<TypeParam>(finite, 13);
        const std::span<const TypeParam> a(pair.a);
        const std::span<const TypeParam> r(pair.r);
        std::mt19937_64 random(17);
        Divergence merged;
        for (std::size_t first = 0; first < a.size();) {
            const std::size_t n = std::min<std::size_t>(random() % 9000, a.size() - first);
            merge(merged, measureDivergence(a.subspan(first, n), r.subspan(first, n)));
            first += n;
        }
        expectSame(merged, measure(pair));
    }
}

TYPED_TEST(DivergencePropertyTest, EveryInstructionSetAgrees) {
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    for (const bool finite : {true, false}) {
        const Pair<TypeParam> pair = makeMixture<TypeParam>(finite, 19);
        const Divergence expected = measure(pair);
        for (const std::int64_t target : targets) {
            SCOPED_TRACE(hwy::TargetName(target));
            hwy::SetSupportedTargetsForTest(target);
            const Divergence d = measure(pair);
            hwy::SetSupportedTargetsForTest(0);
            expectSame(d, expected);
            EXPECT_EQ(d.ulpSum, expected.ulpSum);
        }
    }
}

} // namespace
} // namespace driftscope
