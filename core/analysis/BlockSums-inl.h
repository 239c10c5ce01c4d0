// SPDX-License-Identifier: GPL-3.0-or-later
// The sums over one block of elements. Included once per instruction set, by DivergenceKernel.cpp
// only.
#if defined(DRIFTSCOPE_BLOCK_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DRIFTSCOPE_BLOCK_SUMS_INL_H
#undef DRIFTSCOPE_BLOCK_SUMS_INL_H
#else
#define DRIFTSCOPE_BLOCK_SUMS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "analysis/DivergenceTotals.h"
#include "analysis/UlpVectors-inl.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace driftscope::detail {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using DReal = hn::ScalableTag<double>;
using VReal = hn::Vec<DReal>;
using DCount = hn::ScalableTag<std::uint64_t>;
using VCount = hn::Vec<DCount>;

// Asks for memory well ahead of the arithmetic. The hardware does so by itself only as far as the
// page of 4096 bytes goes, and much less eagerly while a block is busy with arithmetic; without
// this the pass takes 1.6 times as long. An address past the end is no error.
template <typename T>
HWY_INLINE void prefetch(const T* a, const T* r) {
    constexpr std::size_t ahead = 4096 / sizeof(T);
    hwy::Prefetch(a + ahead);
    hwy::Prefetch(r + ahead);
}

// What a block adds, before it is known that its elements are finite. The pass for near tensors
// leaves out what near tensors do not need, and says in `distant` that the other pass must be
// taken.
struct BlockResult {
    double squaredDifference;
    double squaredReference;
    double differenceTimesReference;
    double absoluteDifference;
    double maxAbsolute;
    double maxRelative; ///< 0 if it is not larger than the largest of the blocks before
    std::uint64_t ulpMax;
    std::uint64_t ulpSumLow;
    std::uint64_t ulpSumHigh;
    std::uint64_t signFlips;
    std::uint64_t zeroPairs; ///< −0 against +0: changed bits, distance 0
    bool distant;
};

HWY_INLINE double sumOf(VReal v) {
    return hn::GetLane(hn::SumOfLanes(DReal(), v));
}

HWY_INLINE double maxOf(VReal v) {
    return hn::GetLane(hn::MaxOfLanes(DReal(), v));
}

template <class D>
HWY_INLINE std::uint64_t maxOfIntegers(D d, hn::Vec<D> v) {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
    hn::Store(v, d, lanes);
    return *std::max_element(lanes, lanes + hn::Lanes(d));
}

template <class D>
HWY_INLINE std::uint64_t sumOfIntegers(D d, hn::Vec<D> v) {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
    hn::Store(v, d, lanes);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sum += lanes[i];
    return sum;
}

// |a − r| / max(|r|, smallest normal) without a division: whether any is above the threshold.
// Exact only within the range of float64, which float32 never leaves.
struct RatioAbove {
    VReal threshold;
    VReal excess = hn::Zero(DReal());

    // User-provided constructors, as implicit ones would not be compiled for the instruction set.
    HWY_INLINE explicit RatioAbove(double largestSoFar)
        : threshold(hn::Set(DReal(), largestSoFar * (1 + 0x1p-50))) {}
    HWY_INLINE void add(VReal absolute, VReal base) {
        excess = hn::Max(excess, hn::NegMulAdd(threshold, base, absolute));
    }
    HWY_INLINE bool any() const { return maxOf(excess) > 0; }
};

struct LargestRatio {
    VReal ratio = hn::Zero(DReal());

    HWY_INLINE explicit LargestRatio(double) {}
    HWY_INLINE void add(VReal absolute, VReal base) {
        ratio = hn::Max(ratio, hn::Div(absolute, base));
    }
    HWY_INLINE double value() const { return maxOf(ratio); }
};

// Σ a², Σ a r and Σ (a − r)(a + r) are not summed: they follow from the sums of r², (a − r) r and
// (a − r)².
template <class Ratio>
struct RealSums {
    VReal squaredDifference = hn::Zero(DReal());
    VReal squaredReference = hn::Zero(DReal());
    VReal differenceTimesReference = hn::Zero(DReal());
    VReal absoluteDifference = hn::Zero(DReal());
    VReal maxAbsolute = hn::Zero(DReal());
    VReal smallestNormal;
    Ratio ratio;

    HWY_INLINE RealSums(double smallest, double largestRatio)
        : smallestNormal(hn::Set(DReal(), smallest)), ratio(largestRatio) {}

    HWY_INLINE void add(VReal a, VReal r) {
        const auto difference = hn::Sub(a, r);
        const auto absolute = hn::Abs(difference);
        squaredDifference = hn::MulAdd(difference, difference, squaredDifference);
        squaredReference = hn::MulAdd(r, r, squaredReference);
        differenceTimesReference = hn::MulAdd(difference, r, differenceTimesReference);
        absoluteDifference = hn::Add(absoluteDifference, absolute);
        maxAbsolute = hn::Max(maxAbsolute, absolute);
        ratio.add(absolute, hn::Max(hn::Abs(r), smallestNormal));
    }

    HWY_INLINE void store(BlockResult& result) const {
        result.squaredDifference = sumOf(squaredDifference);
        result.squaredReference = sumOf(squaredReference);
        result.differenceTimesReference = sumOf(differenceTimesReference);
        result.absoluteDifference = sumOf(absoluteDifference);
        result.maxAbsolute = maxOf(maxAbsolute);
    }
};

// Near tensors: no sign differs, all distances are below nearLimit, so a lane of their own width
// holds their sum over a block.
template <typename T>
struct NearIntegers {
    VBits<T> ulpMax = hn::Zero(DBits<T>());
    VBits<T> ulpSum = hn::Zero(DBits<T>());
    VBits<T> differing = hn::Zero(DBits<T>());

    HWY_INLINE NearIntegers() {}

    HWY_INLINE void add(VBits<T> a, VBits<T> r, std::uint32_t* binBits) {
        const auto distance = ulpOfFinite<T>(a, r);
        storeNearBinBits(distance, binBits);
        ulpMax = hn::Max(ulpMax, distance);
        ulpSum = hn::Add(ulpSum, distance);
        differing = hn::Or(differing, hn::Xor(a, r));
    }

    HWY_INLINE void store(BlockResult& result) const {
        const DBits<T> d;
        const hn::RebindToSigned<DBits<T>> di;
        const auto negative = hn::Lt(hn::BitCast(di, differing), hn::Zero(di));
        result.ulpMax = maxOfIntegers(d, ulpMax);
        result.ulpSumLow = sumOfIntegers(d, ulpSum);
        result.ulpSumHigh = 0;
        result.signFlips = 0;
        result.zeroPairs = 0;
        result.distant = result.ulpMax >= nearLimit || !hn::AllFalse(di, negative);
    }
};

template <typename T>
struct DistantIntegers {
    VBits<T> ulpMax = hn::Zero(DBits<T>());
    VCount ulpSumLow = hn::Zero(DCount());
    VCount ulpSumHigh = hn::Zero(DCount());
    std::uint64_t signFlips = 0;
    std::uint64_t zeroPairs = 0;

    HWY_INLINE DistantIntegers() {}

    HWY_INLINE void add(VBits<T> a, VBits<T> r, std::uint32_t* binBits) {
        const hn::RebindToSigned<DBits<T>> di;
        const auto distance = ulpOfFinite<T>(a, r);
        storeBinBits(distance, binBits);
        ulpMax = hn::Max(ulpMax, distance);
        const DCount dc;
        const auto wide = hn::BitCast(dc, distance);
        ulpSumLow = hn::Add(ulpSumLow, hn::And(wide, hn::Set(dc, std::uint64_t{0xffffffff})));
        ulpSumHigh = hn::Add(ulpSumHigh, hn::ShiftRight<32>(wide));

        const auto zero = hn::Zero(di);
        const auto magnitudeMask =
            hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(FloatBits<T>::magnitudeMask));
        const auto magnitudeA = hn::And(hn::BitCast(di, a), magnitudeMask);
        const auto magnitudeR = hn::And(hn::BitCast(di, r), magnitudeMask);
        const auto opposite = hn::Lt(hn::BitCast(di, hn::Xor(a, r)), zero);
        const auto bothNonzero = hn::Gt(hn::Min(magnitudeA, magnitudeR), zero);
        const auto bothZero = hn::Eq(hn::Or(magnitudeA, magnitudeR), zero);
        signFlips += hn::CountTrue(di, hn::And(opposite, bothNonzero));
        zeroPairs += hn::CountTrue(di, hn::And(opposite, bothZero));
    }

    HWY_INLINE void store(BlockResult& result) const {
        result.ulpMax = maxOfIntegers(DBits<T>(), ulpMax);
        result.ulpSumLow = sumOfIntegers(DCount(), ulpSumLow);
        result.ulpSumHigh = sumOfIntegers(DCount(), ulpSumHigh);
        // A lane of 64 bits held two distances of 32.
        if constexpr (sizeof(T) == 4) {
            result.ulpSumLow += result.ulpSumHigh;
            result.ulpSumHigh = 0;
        }
        result.signFlips = signFlips;
        result.zeroPairs = zeroPairs;
        result.distant = signFlips + zeroPairs != 0 || result.ulpMax >= nearLimit;
    }
};

// The largest |a − r| / max(|r|, smallest normal), at least largestSoFar. Divides only where there
// is a larger one, which is seldom after the first few.
HWY_NOINLINE double largestRatio(const float* a, const float* r, std::size_t n,
                                 double largestSoFar) {
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    const auto smallest = hn::Set(dd, static_cast<double>(std::numeric_limits<float>::min()));
    auto largest = hn::Set(dd, largestSoFar);
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        const auto va = hn::PromoteTo(dd, hn::LoadU(half, a + i));
        const auto vr = hn::PromoteTo(dd, hn::LoadU(half, r + i));
        const auto absolute = hn::Abs(hn::Sub(va, vr));
        const auto base = hn::Max(hn::Abs(vr), smallest);
        if (!hn::AllFalse(dd, hn::Gt(absolute, hn::Mul(largest, base))))
            largest = hn::MaxOfLanes(dd, hn::Max(largest, hn::Div(absolute, base)));
    }
    return hn::GetLane(largest);
}

// n elements, a multiple of the number of lanes; a word in binBits for each. largestSoFar: of the
// ratios.
template <class Integers>
HWY_NOINLINE BlockResult sumBlock(const float* a, const float* r, std::size_t n,
                                  double largestSoFar, std::uint32_t* binBits) {
    const hn::ScalableTag<float> df;
    const DBits<float> du;
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    const std::size_t lanes = hn::Lanes(df);
    const std::size_t halfLanes = hn::Lanes(half);
    RealSums<RatioAbove> reals(std::numeric_limits<float>::min(), largestSoFar);
    Integers integers;
    for (std::size_t i = 0; i < n; i += lanes) {
        prefetch(a + i, r + i);
        reals.add(hn::PromoteTo(dd, hn::LoadU(half, a + i)),
                  hn::PromoteTo(dd, hn::LoadU(half, r + i)));
        reals.add(hn::PromoteTo(dd, hn::LoadU(half, a + i + halfLanes)),
                  hn::PromoteTo(dd, hn::LoadU(half, r + i + halfLanes)));
        integers.add(hn::BitCast(du, hn::LoadU(df, a + i)), hn::BitCast(du, hn::LoadU(df, r + i)),
                     binBits + i);
    }
    BlockResult result;
    reals.store(result);
    integers.store(result);
    result.maxRelative = reals.ratio.any() ? largestRatio(a, r, n, largestSoFar) : 0;
    return result;
}

template <class Integers>
HWY_NOINLINE BlockResult sumBlock(const double* a, const double* r, std::size_t n,
                                  double largestSoFar, std::uint32_t* binBits) {
    const DReal dd;
    const DBits<double> du;
    RealSums<LargestRatio> reals(std::numeric_limits<double>::min(), largestSoFar);
    Integers integers;
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        prefetch(a + i, r + i);
        const auto va = hn::LoadU(dd, a + i);
        const auto vr = hn::LoadU(dd, r + i);
        reals.add(va, vr);
        integers.add(hn::BitCast(du, va), hn::BitCast(du, vr), binBits + i);
    }
    BlockResult result;
    reals.store(result);
    integers.store(result);
    result.maxRelative = reals.ratio.value();
    return result;
}

struct Products {
    double squaredRun; ///< Σ a²
    double product;    ///< Σ a r
};

HWY_INLINE Products sumProducts(const float* a, const float* r, std::size_t n) {
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    auto squares = hn::Zero(dd);
    auto products = hn::Zero(dd);
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        const auto va = hn::PromoteTo(dd, hn::LoadU(half, a + i));
        squares = hn::MulAdd(va, va, squares);
        products = hn::MulAdd(va, hn::PromoteTo(dd, hn::LoadU(half, r + i)), products);
    }
    return {sumOf(squares), sumOf(products)};
}

HWY_INLINE Products sumProducts(const double* a, const double* r, std::size_t n) {
    const DReal dd;
    auto squares = hn::Zero(dd);
    auto products = hn::Zero(dd);
    for (std::size_t i = 0; i < n; i += hn::Lanes(dd)) {
        const auto va = hn::LoadU(dd, a + i);
        squares = hn::MulAdd(va, va, squares);
        products = hn::MulAdd(va, hn::LoadU(dd, r + i), products);
    }
    return {sumOf(squares), sumOf(products)};
}

struct IdenticalResult {
    bool identical;
    double squares;
};

// Whether the n elements are the same bits on both sides, and the sum of their squares.
HWY_INLINE IdenticalResult sumIdentical(const float* a, const float* r, std::size_t n) {
    const hn::ScalableTag<float> df;
    const DBits<float> du;
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    const std::size_t lanes = hn::Lanes(df);
    const std::size_t halfLanes = hn::Lanes(half);
    auto lower = hn::Zero(dd);
    auto upper = hn::Zero(dd);
    auto differing = hn::Zero(du);
    for (std::size_t i = 0; i < n; i += lanes) {
        prefetch(a + i, r + i);
        differing = hn::Or(differing, hn::Xor(hn::BitCast(du, hn::LoadU(df, a + i)),
                                              hn::BitCast(du, hn::LoadU(df, r + i))));
        const auto first = hn::PromoteTo(dd, hn::LoadU(half, r + i));
        const auto second = hn::PromoteTo(dd, hn::LoadU(half, r + i + halfLanes));
        lower = hn::MulAdd(first, first, lower);
        upper = hn::MulAdd(second, second, upper);
    }
    return {hn::AllTrue(du, hn::Eq(differing, hn::Zero(du))), sumOf(hn::Add(lower, upper))};
}

HWY_INLINE IdenticalResult sumIdentical(const double* a, const double* r, std::size_t n) {
    const DReal dd;
    const DBits<double> du;
    const std::size_t lanes = hn::Lanes(dd);
    auto even = hn::Zero(dd);
    auto odd = hn::Zero(dd);
    auto differing = hn::Zero(du);
    for (std::size_t i = 0; i < n; i += 2 * lanes) {
        prefetch(a + i, r + i);
        prefetch(a + i + lanes, r + i + lanes);
        const auto first = hn::LoadU(dd, r + i);
        const auto second = hn::LoadU(dd, r + i + lanes);
        const auto both =
            hn::Or(hn::Xor(hn::BitCast(du, hn::LoadU(dd, a + i)), hn::BitCast(du, first)),
                   hn::Xor(hn::BitCast(du, hn::LoadU(dd, a + i + lanes)), hn::BitCast(du, second)));
        differing = hn::Or(differing, both);
        even = hn::MulAdd(first, first, even);
        odd = hn::MulAdd(second, second, odd);
    }
    return {hn::AllTrue(du, hn::Eq(differing, hn::Zero(du))), sumOf(hn::Add(even, odd))};
}

#endif // HWY_TARGET != HWY_SCALAR
} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
