// SPDX-License-Identifier: GPL-3.0-or-later
// The sums over one block of elements. Included once per instruction set, by DivergenceKernel.cpp only.
#if defined(DRIFTSCOPE_BLOCK_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DRIFTSCOPE_BLOCK_SUMS_INL_H
#undef DRIFTSCOPE_BLOCK_SUMS_INL_H
#else
#define DRIFTSCOPE_BLOCK_SUMS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "DivergenceTotals.h"
#include "UlpVectors-inl.h"

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

// How far ahead of the arithmetic memory is asked for: the hardware alone does not keep reading while
// the histogram of a block is made.
constexpr std::size_t prefetchBytes = 4096;

// What a block adds, before it is known that its elements are finite. The pass for near tensors leaves
// out what near tensors do not need, and says in `distant` that the other pass must be taken.
struct BlockResult {
    double squaredDifference;
    double squaredReference;
    double differenceTimesReference;
    double absoluteDifference;
    double maxAbsolute;
    double ratioExcess; ///< above 0: some |a − r| / max(|r|, …) is larger than the largest so far
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

template <class D> HWY_INLINE std::uint64_t maxOfIntegers(D d, hn::Vec<D> v) {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
    hn::Store(v, d, lanes);
    return *std::max_element(lanes, lanes + hn::Lanes(d));
}

template <class D> HWY_INLINE std::uint64_t sumOfIntegers(D d, hn::Vec<D> v) {
    HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
    hn::Store(v, d, lanes);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sum += lanes[i];
    return sum;
}

// Σ (a − r)(a + r) is not summed: it is 2 Σ (a − r) r + Σ (a − r)², which costs one multiplication less.
struct RealSums {
    VReal squaredDifference = hn::Zero(DReal());
    VReal squaredReference = hn::Zero(DReal());
    VReal differenceTimesReference = hn::Zero(DReal());
    VReal absoluteDifference = hn::Zero(DReal());
    VReal maxAbsolute = hn::Zero(DReal());
    VReal ratioExcess = hn::Zero(DReal());
    VReal smallestNormal;
    VReal ratioThreshold;

    // A user-provided constructor, as the implicit one would not be compiled for the instruction set.
    HWY_INLINE RealSums(double smallest, double threshold)
        : smallestNormal(hn::Set(DReal(), smallest)), ratioThreshold(hn::Set(DReal(), threshold)) {}

    HWY_INLINE void add(VReal a, VReal r) {
        const auto difference = hn::Sub(a, r);
        const auto absolute = hn::Abs(difference);
        squaredDifference = hn::MulAdd(difference, difference, squaredDifference);
        squaredReference = hn::MulAdd(r, r, squaredReference);
        differenceTimesReference = hn::MulAdd(difference, r, differenceTimesReference);
        absoluteDifference = hn::Add(absoluteDifference, absolute);
        maxAbsolute = hn::Max(maxAbsolute, absolute);
        const auto base = hn::Max(hn::Abs(r), smallestNormal);
        ratioExcess = hn::Max(ratioExcess, hn::NegMulAdd(ratioThreshold, base, absolute));
    }

    HWY_INLINE void store(BlockResult& result) const {
        result.squaredDifference = sumOf(squaredDifference);
        result.squaredReference = sumOf(squaredReference);
        result.differenceTimesReference = sumOf(differenceTimesReference);
        result.absoluteDifference = sumOf(absoluteDifference);
        result.maxAbsolute = maxOf(maxAbsolute);
        result.ratioExcess = maxOf(ratioExcess);
    }
};

// Distances below which a lane of their own width holds their sum over a block.
template <typename T>
constexpr std::uint64_t nearLimit = sizeof(T) == 4 ? std::uint64_t{1} << 20 : std::uint64_t{1} << 52;

// Near tensors: no sign differs, no distance passes nearLimit.
template <typename T> struct NearIntegers {
    VBits<T> ulpMax = hn::Zero(DBits<T>());
    VBits<T> ulpSum = hn::Zero(DBits<T>());
    VBits<T> differing = hn::Zero(DBits<T>());

    HWY_INLINE NearIntegers() {}

    HWY_INLINE void add(VBits<T> a, VBits<T> r, std::uint8_t* codes) {
        const auto distance = ulpOfFinite<T>(a, r);
        storeCodes(distance, codes);
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
        result.distant = result.ulpMax >= nearLimit<T> || !hn::AllFalse(di, negative);
    }
};

template <typename T> struct DistantIntegers {
    VBits<T> ulpMax = hn::Zero(DBits<T>());
    VCount ulpSumLow = hn::Zero(DCount());
    VCount ulpSumHigh = hn::Zero(DCount());
    std::uint64_t signFlips = 0;
    std::uint64_t zeroPairs = 0;

    HWY_INLINE DistantIntegers() {}

    HWY_INLINE void add(VBits<T> a, VBits<T> r, std::uint8_t* codes) {
        const hn::RebindToSigned<DBits<T>> di;
        const auto distance = ulpOfFinite<T>(a, r);
        storeCodes(distance, codes);
        ulpMax = hn::Max(ulpMax, distance);
        const DCount dc;
        const auto wide = hn::BitCast(dc, distance);
        ulpSumLow = hn::Add(ulpSumLow, hn::And(wide, hn::Set(dc, std::uint64_t{0xffffffff})));
        ulpSumHigh = hn::Add(ulpSumHigh, hn::ShiftRight<32>(wide));

        const auto zero = hn::Zero(di);
        const auto magnitudeMask = hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(
                                                   FloatBits<T>::magnitudeMask));
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
        result.distant = signFlips + zeroPairs != 0 || result.ulpMax >= nearLimit<T>;
    }
};

// n elements, a multiple of the number of lanes; one code for each.
template <class Integers>
HWY_NOINLINE BlockResult sumBlock(const float* a, const float* r, std::size_t n,
                                  double ratioThreshold, std::uint8_t* codes) {
    const hn::ScalableTag<float> df;
    const DBits<float> du;
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    constexpr std::size_t ahead = prefetchBytes / sizeof(float);
    const std::size_t lanes = hn::Lanes(df);
    const std::size_t halfLanes = hn::Lanes(half);
    RealSums reals(std::numeric_limits<float>::min(), ratioThreshold);
    Integers integers;
    for (std::size_t i = 0; i < n; i += lanes) {
        hwy::Prefetch(a + i + ahead);
        hwy::Prefetch(r + i + ahead);
        reals.add(hn::PromoteTo(dd, hn::LoadU(half, a + i)),
                  hn::PromoteTo(dd, hn::LoadU(half, r + i)));
        reals.add(hn::PromoteTo(dd, hn::LoadU(half, a + i + halfLanes)),
                  hn::PromoteTo(dd, hn::LoadU(half, r + i + halfLanes)));
        integers.add(hn::BitCast(du, hn::LoadU(df, a + i)), hn::BitCast(du, hn::LoadU(df, r + i)),
                     codes + i);
    }
    BlockResult result;
    reals.store(result);
    integers.store(result);
    return result;
}

template <class Integers>
HWY_NOINLINE BlockResult sumBlock(const double* a, const double* r, std::size_t n,
                                  double ratioThreshold, std::uint8_t* codes) {
    const DReal dd;
    const DBits<double> du;
    constexpr std::size_t ahead = prefetchBytes / sizeof(double);
    const std::size_t lanes = hn::Lanes(dd);
    RealSums reals(std::numeric_limits<double>::min(), ratioThreshold);
    Integers integers;
    for (std::size_t i = 0; i < n; i += lanes) {
        hwy::Prefetch(a + i + ahead);
        hwy::Prefetch(r + i + ahead);
        const auto va = hn::LoadU(dd, a + i);
        const auto vr = hn::LoadU(dd, r + i);
        reals.add(va, vr);
        integers.add(hn::BitCast(du, va), hn::BitCast(du, vr), codes + i);
    }
    BlockResult result;
    reals.store(result);
    integers.store(result);
    return result;
}

#endif // HWY_TARGET != HWY_SCALAR
} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
