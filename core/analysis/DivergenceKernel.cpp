// SPDX-License-Identifier: GPL-3.0-or-later
// The SIMD pass, compiled once per instruction set and chosen at run time. It works in blocks that fit
// the first-level cache. Each block is first hoped to be like the one before: a block with no changed
// bit needs little more than a comparison. Blocks that the fast arithmetic cannot do exactly (non-finite
// elements, squares outside the range of float64) show in their own sums and are done again by element.

// Vectors are members of structs here, which scalable vector types cannot be.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/analysis/DivergenceKernel.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep, must precede highway.h
#include <hwy/highway.h>

#include "DivergenceTotals.h"

#include <algorithm>
#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace driftscope::detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

template <typename T>
void measureAll(const T* a, const T* r, std::size_t n, DivergenceTotals& into) {
    measureElements(a, r, n, into);
}

template <typename T, typename U>
std::size_t collect(const T* a, const T* r, std::size_t n, U first, U span, U* out) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto offset = static_cast<U>(static_cast<U>(ulpDistance(a[i], r[i])) - first);
        if (offset <= span)
            out[found++] = offset;
    }
    return found;
}

#else

// Elements per block: two arrays of float32 and the bin codes stay within 48 KiB of first-level cache.
constexpr std::size_t blockSize = 4096;
// Tails are padded with zeros to whole vectors of bytes, the widest being of 64 lanes.
constexpr std::size_t padding = 64;

using DReal = hn::ScalableTag<double>;
using VReal = hn::Vec<DReal>;
template <typename T> using DBits = hn::ScalableTag<typename FloatBits<T>::Unsigned>;
template <typename T> using VBits = hn::Vec<DBits<T>>;
using DCount = hn::ScalableTag<std::uint64_t>;
using VCount = hn::Vec<DCount>;

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

HWY_INLINE std::uint64_t sumOfIntegers(VCount v) {
    HWY_ALIGN std::uint64_t lanes[HWY_MAX_BYTES / sizeof(std::uint64_t)];
    const DCount d;
    hn::Store(v, d, lanes);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < hn::Lanes(d); ++i)
        sum += lanes[i];
    return sum;
}

// The largest |d| / max(|r|, smallest normal). float32 needs no division: the best pair of a lane stays
// a fraction, and a cross product compares fractions, within the range of float64.
template <typename T> struct LargestRatio;

template <> struct LargestRatio<float> {
    VReal numerator = hn::Zero(DReal());
    VReal denominator = hn::Set(DReal(), 1.0);

    HWY_INLINE LargestRatio() {}
    HWY_INLINE void add(VReal absolute, VReal base) {
        const auto better =
            hn::Gt(hn::Mul(absolute, denominator), hn::Mul(numerator, base));
        numerator = hn::IfThenElse(better, absolute, numerator);
        denominator = hn::IfThenElse(better, base, denominator);
    }
    HWY_INLINE double value() const { return maxOf(hn::Div(numerator, denominator)); }
};

template <> struct LargestRatio<double> {
    VReal ratio = hn::Zero(DReal());

    HWY_INLINE LargestRatio() {}
    HWY_INLINE void add(VReal absolute, VReal base) {
        ratio = hn::Max(ratio, hn::Div(absolute, base));
    }
    HWY_INLINE double value() const { return maxOf(ratio); }
};

struct RealSums {
    VReal squaredDifference = hn::Zero(DReal());
    VReal squaredReference = hn::Zero(DReal());
    VReal squaredRun = hn::Zero(DReal());
    VReal differenceTimesSum = hn::Zero(DReal());
    VReal absoluteDifference = hn::Zero(DReal());
    VReal maxAbsolute = hn::Zero(DReal());

    HWY_INLINE RealSums() {}
    template <class Ratio> HWY_INLINE void add(VReal a, VReal r, VReal smallestNormal, Ratio& ratio) {
        const auto difference = hn::Sub(a, r);
        const auto absolute = hn::Abs(difference);
        squaredDifference = hn::MulAdd(difference, difference, squaredDifference);
        squaredReference = hn::MulAdd(r, r, squaredReference);
        squaredRun = hn::MulAdd(a, a, squaredRun);
        differenceTimesSum = hn::MulAdd(difference, hn::Add(a, r), differenceTimesSum);
        absoluteDifference = hn::Add(absoluteDifference, absolute);
        maxAbsolute = hn::Max(maxAbsolute, absolute);
        ratio.add(absolute, hn::Max(hn::Abs(r), smallestNormal));
    }
};

// What a block of finite elements adds, before it is known that all of them are finite.
struct BlockResult {
    double squaredDifference;
    double squaredReference;
    double squaredRun;
    double differenceTimesSum;
    double absoluteDifference;
    double maxAbsolute;
    double maxRelative;
    std::uint64_t ulpMax;
    std::uint64_t ulpSumLow;
    std::uint64_t ulpSumHigh;
    std::uint64_t changed;
    std::uint64_t signFlips;
};

// Distance on the ordered integer line, for finite elements.
template <typename T>
HWY_INLINE VBits<T> ulpOfFinite(VBits<T> a, VBits<T> r) {
    const DBits<T> d;
    const hn::RebindToSigned<DBits<T>> di;
    const auto magnitudeMask = hn::Set(d, FloatBits<T>::magnitudeMask);
    const auto magnitudeA = hn::BitCast(di, hn::And(a, magnitudeMask));
    const auto magnitudeR = hn::BitCast(di, hn::And(r, magnitudeMask));
    // r's place on the line as seen from a's side of zero: negated where the signs differ.
    const auto opposite = hn::BroadcastSignBit(hn::BitCast(di, hn::Xor(a, r)));
    const auto placeR = hn::Sub(hn::Xor(magnitudeR, opposite), opposite);
    // The larger minus the smaller always fits the unsigned type, which a signed difference would not.
    return hn::BitCast(d, hn::Sub(hn::Max(magnitudeA, placeR), hn::Min(magnitudeA, placeR)));
}

// A byte per distance that orders the bins: 0 for 0, 126 + the number of significant bits up to 31,
// 255 for more. It is the exponent of the distance's top bit as float32; without the bit below the top,
// rounding cannot carry into the next exponent, and distances from 2^31 are negative and saturate.
template <class D32>
HWY_INLINE void storeBinCodes(D32 d, hn::Vec<D32> distance, std::uint8_t* codes) {
    const hn::RebindToSigned<D32> di;
    const hn::RebindToFloat<D32> df;
    const hn::Rebind<std::uint8_t, D32> d8;
    const auto top = hn::AndNot(hn::ShiftRight<1>(distance), distance);
    const auto exponent =
        hn::ShiftRight<23>(hn::BitCast(d, hn::ConvertTo(df, hn::BitCast(di, top))));
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(di, exponent)), d8, codes);
}

HWY_INLINE void storeCodes(VBits<float> distance, std::uint8_t* codes) {
    storeBinCodes(DBits<float>(), distance, codes);
}

HWY_INLINE void storeCodes(VBits<double> distance, std::uint8_t* codes) {
    const DBits<double> d;
    const hn::Rebind<std::uint32_t, DBits<double>> d32;
    const auto saturated = hn::Min(distance, hn::Set(d, std::uint64_t{0xffffffff}));
    storeBinCodes(d32, hn::TruncateTo(d32, saturated), codes);
}

template <typename T> struct IntegerSums {
    VBits<T> ulpMax = hn::Zero(DBits<T>());
    VCount ulpSumLow = hn::Zero(DCount());
    VCount ulpSumHigh = hn::Zero(DCount());
    std::uint64_t changed = 0;
    std::uint64_t signFlips = 0;

    HWY_INLINE IntegerSums() {}
    HWY_INLINE void add(VBits<T> a, VBits<T> r, std::uint8_t* codes) {
        const DBits<T> d;
        const hn::RebindToSigned<DBits<T>> di;
        const auto distance = ulpOfFinite<T>(a, r);
        storeCodes(distance, codes);
        ulpMax = hn::Max(ulpMax, distance);
        const DCount dc;
        const auto wide = hn::BitCast(dc, distance);
        ulpSumLow = hn::Add(ulpSumLow, hn::And(wide, hn::Set(dc, std::uint64_t{0xffffffff})));
        ulpSumHigh = hn::Add(ulpSumHigh, hn::ShiftRight<32>(wide));
        changed += hn::CountTrue(d, hn::Ne(a, r));

        const auto magnitudeMask = hn::Set(d, FloatBits<T>::magnitudeMask);
        const auto magnitudeA = hn::BitCast(di, hn::And(a, magnitudeMask));
        const auto magnitudeR = hn::BitCast(di, hn::And(r, magnitudeMask));
        const auto zero = hn::Zero(di);
        const auto opposite = hn::Lt(hn::BitCast(di, hn::Xor(a, r)), zero);
        const auto flipped = hn::And(opposite, hn::Gt(hn::Min(magnitudeA, magnitudeR), zero));
        signFlips += hn::CountTrue(di, flipped);
    }
};

template <typename T>
HWY_INLINE void fillResult(const RealSums& sums, const IntegerSums<T>& integers, double maxRelative,
                           BlockResult& result) {
    result.squaredDifference = sumOf(sums.squaredDifference);
    result.squaredReference = sumOf(sums.squaredReference);
    result.squaredRun = sumOf(sums.squaredRun);
    result.differenceTimesSum = sumOf(sums.differenceTimesSum);
    result.absoluteDifference = sumOf(sums.absoluteDifference);
    result.maxAbsolute = maxOf(sums.maxAbsolute);
    result.maxRelative = maxRelative;
    result.ulpMax = maxOfIntegers(DBits<T>(), integers.ulpMax);
    result.ulpSumLow = sumOfIntegers(integers.ulpSumLow);
    result.ulpSumHigh = sumOfIntegers(integers.ulpSumHigh);
    result.changed = integers.changed;
    result.signFlips = integers.signFlips;
}

HWY_NOINLINE BlockResult measureBlock(const float* a, const float* r, std::size_t n,
                                      std::uint8_t* codes) {
    const hn::ScalableTag<float> df;
    const DBits<float> du;
    const DReal dd;
    const hn::Rebind<float, DReal> half;
    const auto smallestNormal = hn::Set(dd, static_cast<double>(std::numeric_limits<float>::min()));
    RealSums sums;
    IntegerSums<float> integers;
    LargestRatio<float> lowerRatio;
    LargestRatio<float> upperRatio;
    const std::size_t lanes = hn::Lanes(df);
    const std::size_t halfLanes = hn::Lanes(half);
    for (std::size_t i = 0; i < n; i += lanes) {
        sums.add(hn::PromoteTo(dd, hn::LoadU(half, a + i)), hn::PromoteTo(dd, hn::LoadU(half, r + i)),
                 smallestNormal, lowerRatio);
        sums.add(hn::PromoteTo(dd, hn::LoadU(half, a + i + halfLanes)),
                 hn::PromoteTo(dd, hn::LoadU(half, r + i + halfLanes)), smallestNormal, upperRatio);
        integers.add(hn::BitCast(du, hn::LoadU(df, a + i)), hn::BitCast(du, hn::LoadU(df, r + i)),
                     codes + i);
    }
    BlockResult result;
    fillResult(sums, integers, std::max(lowerRatio.value(), upperRatio.value()), result);
    // Two distances shared a lane of 64 bits.
    result.ulpSumLow += result.ulpSumHigh;
    result.ulpSumHigh = 0;
    return result;
}

HWY_NOINLINE BlockResult measureBlock(const double* a, const double* r, std::size_t n,
                                      std::uint8_t* codes) {
    const DReal dd;
    const DBits<double> du;
    const auto smallestNormal = hn::Set(dd, std::numeric_limits<double>::min());
    RealSums sums;
    IntegerSums<double> integers;
    LargestRatio<double> ratio;
    const std::size_t lanes = hn::Lanes(dd);
    for (std::size_t i = 0; i < n; i += lanes) {
        const auto va = hn::LoadU(dd, a + i);
        const auto vr = hn::LoadU(dd, r + i);
        sums.add(va, vr, smallestNormal, ratio);
        integers.add(hn::BitCast(du, va), hn::BitCast(du, vr), codes + i);
    }
    BlockResult result;
    fillResult(sums, integers, ratio.value(), result);
    return result;
}

HWY_INLINE std::size_t countCode(const std::uint8_t* codes, std::size_t n, std::uint8_t code) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto wanted = hn::Set(d, code);
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; i += hn::Lanes(d))
        count += hn::CountTrue(d, hn::Eq(hn::LoadU(d, codes + i), wanted));
    return count;
}

HWY_NOINLINE void addHistogram(const std::uint8_t* codes, std::size_t n, std::uint64_t ulpMax,
                               std::array<std::uint64_t, ulpBinCount>& histogram) {
    std::size_t left = n;
    for (std::size_t bin = ulpBin(ulpMax); left != 0 && bin != 0; --bin) {
        const auto code = static_cast<std::uint8_t>(bin == ulpBinCount - 1 ? 255 : 126 + bin);
        const std::size_t count = countCode(codes, n, code);
        histogram[bin] += count;
        left -= count;
    }
    histogram[0] += left;
}

struct IdenticalResult {
    bool identical;
    double squares;
};

// Whether the n elements are the same bits on both sides, and the sum of their squares.
HWY_INLINE IdenticalResult measureIdentical(const float* a, const float* r, std::size_t n) {
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
        differing = hn::Or(differing, hn::Xor(hn::BitCast(du, hn::LoadU(df, a + i)),
                                              hn::BitCast(du, hn::LoadU(df, r + i))));
        const auto first = hn::PromoteTo(dd, hn::LoadU(half, r + i));
        const auto second = hn::PromoteTo(dd, hn::LoadU(half, r + i + halfLanes));
        lower = hn::MulAdd(first, first, lower);
        upper = hn::MulAdd(second, second, upper);
    }
    return {hn::AllTrue(du, hn::Eq(differing, hn::Zero(du))), sumOf(hn::Add(lower, upper))};
}

HWY_INLINE IdenticalResult measureIdentical(const double* a, const double* r, std::size_t n) {
    const DReal dd;
    const DBits<double> du;
    const std::size_t lanes = hn::Lanes(dd);
    auto even = hn::Zero(dd);
    auto odd = hn::Zero(dd);
    auto differing = hn::Zero(du);
    for (std::size_t i = 0; i < n; i += 2 * lanes) {
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

// Whether the sum of the squares of n elements of x is far enough from the ends of the range of float64
// that no square lost bits that count: a square below 2^-1022 is rounded, but not one of the 4096 of
// them is then worth a bit of a sum above 2^-900.
template <typename T> HWY_INLINE bool squaresInRange(double sum, const T* x, std::size_t n) {
    if constexpr (sizeof(T) == 4)
        return std::isfinite(sum);
    if (sum > 0x1p-900)
        return std::isfinite(sum);
    return std::all_of(x, x + n, [](T value) { return value == 0; });
}

template <typename T>
HWY_INLINE bool exact(const BlockResult& block, const T* a, const T* r, std::size_t n) {
    if (!squaresInRange(block.squaredReference, r, n) || !squaresInRange(block.squaredRun, a, n))
        return false;
    if constexpr (sizeof(T) == 4)
        return std::isfinite(block.squaredDifference);
    if (!std::isfinite(block.differenceTimesSum))
        return false;
    return block.squaredDifference > 0x1p-900 ? std::isfinite(block.squaredDifference)
                                              : block.absoluteDifference == 0;
}

HWY_INLINE void addBlock(const BlockResult& block, DivergenceTotals& into) {
    into.squaredDifference += block.squaredDifference;
    into.squaredReference += block.squaredReference;
    into.squaredRun += block.squaredRun;
    into.differenceTimesSum += block.differenceTimesSum;
    into.absoluteDifference += block.absoluteDifference;
    into.maxAbsolute = std::max(into.maxAbsolute, block.maxAbsolute);
    into.maxRelative = std::max(into.maxRelative, block.maxRelative);
    into.ulpMax = std::max(into.ulpMax, block.ulpMax);
    into.ulpSumLow += block.ulpSumLow;
    into.ulpSumHigh += block.ulpSumHigh;
    into.changed += block.changed;
    into.signFlips += block.signFlips;
}

// One block after the other; `padded` elements are readable, of which the last padded - n are zeros.
template <typename T> struct BlockPass {
    DivergenceTotals& into;
    std::uint8_t* codes; // blockSize of them
    bool expectIdentical = true;

    HWY_INLINE void add(const T* a, const T* r, std::size_t n, std::size_t padded) {
        if (expectIdentical) {
            const IdenticalResult same = measureIdentical(a, r, padded);
            expectIdentical = same.identical;
            if (same.identical && squaresInRange(same.squares, r, n)) {
                into.squaredReference += same.squares;
                into.squaredRun += same.squares;
                into.count += n;
                into.ulpHistogram[0] += n;
                return;
            }
        }
        const BlockResult block = measureBlock(a, r, padded, codes);
        expectIdentical = block.changed == 0;
        if (!exact(block, a, r, n)) {
            measureElements(a, r, n, into);
            return;
        }
        addBlock(block, into);
        into.count += n;
        addHistogram(codes, padded, block.ulpMax, into.ulpHistogram);
        into.ulpHistogram[0] -= padded - n;
    }
};

template <typename T>
void measureAll(const T* a, const T* r, std::size_t n, DivergenceTotals& into) {
    HWY_ALIGN std::uint8_t codes[blockSize];
    BlockPass<T> pass{into, codes};
    std::size_t i = 0;
    for (; i + blockSize <= n; i += blockSize)
        pass.add(a + i, r + i, blockSize, blockSize);
    const std::size_t left = n - i;
    if (left == 0)
        return;
    const std::size_t padded = (left + padding - 1) / padding * padding;
    HWY_ALIGN T lastA[blockSize];
    HWY_ALIGN T lastR[blockSize];
    std::memcpy(lastA, a + i, left * sizeof(T));
    std::memcpy(lastR, r + i, left * sizeof(T));
    std::fill(lastA + left, lastA + padded, T{0});
    std::fill(lastR + left, lastR + padded, T{0});
    pass.add(lastA, lastR, left, padded);
}

// ulpDistance for vectors.
template <typename T> HWY_INLINE VBits<T> ulpOfAny(VBits<T> a, VBits<T> r) {
    const DBits<T> d;
    const hn::RebindToSigned<DBits<T>> di;
    const auto magnitudeMask = hn::Set(d, FloatBits<T>::magnitudeMask);
    const auto magnitudeA = hn::BitCast(di, hn::And(a, magnitudeMask));
    const auto magnitudeR = hn::BitCast(di, hn::And(r, magnitudeMask));
    const auto infinity = hn::BitCast(di, hn::Set(d, FloatBits<T>::infinity));
    const auto distance = ulpOfFinite<T>(a, r);
    const auto finite = hn::Lt(hn::Max(magnitudeA, magnitudeR), infinity);
    if (HWY_LIKELY(hn::AllTrue(di, finite)))
        return distance;
    const auto bothNan = hn::Gt(hn::Min(magnitudeA, magnitudeR), infinity);
    const auto bitsEqual = hn::Eq(hn::BitCast(di, a), hn::BitCast(di, r));
    const auto special = hn::IfThenZeroElse(hn::Or(bothNan, bitsEqual), hn::Set(di, -1));
    return hn::BitCast(d, hn::IfThenElse(finite, hn::BitCast(di, distance), special));
}

template <typename T, typename U>
std::size_t collect(const T* a, const T* r, std::size_t n, U first, U span, U* out) {
    const hn::ScalableTag<T> df;
    const DBits<T> d;
    const std::size_t lanes = hn::Lanes(d);
    const auto firstVector = hn::Set(d, first);
    const auto spanVector = hn::Set(d, span);
    std::size_t found = 0;
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto distance = ulpOfAny<T>(hn::BitCast(d, hn::LoadU(df, a + i)),
                                          hn::BitCast(d, hn::LoadU(df, r + i)));
        const auto offset = hn::Sub(distance, firstVector);
        // The lanes past those kept are overwritten by the next store, and stay within out.
        found += hn::CompressStore(offset, hn::Not(hn::Gt(offset, spanVector)), d, out + found);
    }
    for (; i < n; ++i) {
        const auto offset = static_cast<U>(static_cast<U>(ulpDistance(a[i], r[i])) - first);
        if (offset <= span)
            out[found++] = offset;
    }
    return found;
}

#endif // HWY_TARGET == HWY_SCALAR

void measureFloats(const float* a, const float* r, std::size_t n, DivergenceTotals& into) {
    measureAll(a, r, n, into);
}

void measureDoubles(const double* a, const double* r, std::size_t n, DivergenceTotals& into) {
    measureAll(a, r, n, into);
}

std::size_t collectFloats(const float* a, const float* r, std::size_t n, std::uint32_t first,
                          std::uint32_t span, std::uint32_t* out) {
    return collect(a, r, n, first, span, out);
}

std::size_t collectDoubles(const double* a, const double* r, std::size_t n, std::uint64_t first,
                           std::uint64_t span, std::uint64_t* out) {
    return collect(a, r, n, first, span, out);
}

} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace driftscope::detail {

HWY_EXPORT(measureFloats);
HWY_EXPORT(measureDoubles);
HWY_EXPORT(collectFloats);
HWY_EXPORT(collectDoubles);

void measureBlocks(const float* a, const float* r, std::size_t n, DivergenceTotals& into) {
    HWY_DYNAMIC_DISPATCH(measureFloats)(a, r, n, into);
}

void measureBlocks(const double* a, const double* r, std::size_t n, DivergenceTotals& into) {
    HWY_DYNAMIC_DISPATCH(measureDoubles)(a, r, n, into);
}

std::size_t collectUlps(const float* a, const float* r, std::size_t n, std::uint32_t first,
                        std::uint32_t span, std::uint32_t* out) {
    return HWY_DYNAMIC_DISPATCH(collectFloats)(a, r, n, first, span, out);
}

std::size_t collectUlps(const double* a, const double* r, std::size_t n, std::uint64_t first,
                        std::uint64_t span, std::uint64_t* out) {
    return HWY_DYNAMIC_DISPATCH(collectDoubles)(a, r, n, first, span, out);
}

} // namespace driftscope::detail
#endif // HWY_ONCE
