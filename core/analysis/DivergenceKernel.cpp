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
#define HWY_TARGET_INCLUDE "analysis/DivergenceKernel.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep, must precede highway.h
#include <hwy/highway.h>

#include "analysis/BlockSums-inl.h"
#include "analysis/DivergenceTotals.h"
#include "analysis/UlpVectors-inl.h"

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

// Blocks in a row without a distant element before the pass for near tensors is tried again.
constexpr int distantPatience = 16;

// Whether no square that counts was lost at the ends of the range of float64. A square below 2^-1022 is
// rounded, but 4096 of them are not worth a bit of a sum above 2^-900.
template <typename T> HWY_INLINE bool squaresInRange(double sum, const T* x, std::size_t n) {
    if (sizeof(T) == 4 || sum > 0x1p-900)
        return std::isfinite(sum);
    return std::all_of(x, x + n, [](T value) { return value == 0; });
}

template <typename T> HWY_INLINE bool exact(const BlockResult& block, const T* r, std::size_t n) {
    if (!squaresInRange(block.squaredReference, r, n) ||
        !std::isfinite(block.differenceTimesReference))
        return false;
    if (sizeof(T) == 4 || block.squaredDifference > 0x1p-900)
        return std::isfinite(block.squaredDifference);
    return block.absoluteDifference == 0;
}

// One block after the other. `padded` elements are readable; the last padded - n of them are zeros,
// which add nothing but pairs of distance 0.
template <typename T> struct BlockPass {
    DivergenceTotals& into;
    std::uint8_t* codes; // blockSize of them
    bool expectIdentical = true;
    int expectDistant = 0;

    HWY_INLINE void add(const T* a, const T* r, std::size_t n, std::size_t padded) {
        if (expectIdentical) {
            const IdenticalResult same = sumIdentical(a, r, padded);
            expectIdentical = same.identical;
            if (same.identical && squaresInRange(same.squares, r, n)) {
                into.squaredReference += same.squares;
                into.squaredRun += same.squares;
                into.count += n;
                into.ulpHistogram[0] += n;
                return;
            }
        }
        const BlockResult block = sum(a, r, padded);
        const double timesSum = 2 * block.differenceTimesReference + block.squaredDifference;
        double squaredRun = block.squaredReference + timesSum;
        // Much the smaller of the two: what is left of the cancellation is not enough.
        if (squaredRun < block.squaredReference / 16)
            squaredRun = sumOfSquares(a, padded);
        if (!exact(block, r, n) || !squaresInRange(squaredRun, a, n)) {
            measureElements(a, r, n, into);
            return;
        }
        addReals(block, timesSum, squaredRun);
        addIntegers(block, n, padded);
    }

    HWY_INLINE BlockResult sum(const T* a, const T* r, std::size_t padded) {
        BlockResult block;
        if (expectDistant == 0)
            block = sumBlock<NearIntegers<T>>(a, r, padded, into.maxRelative, codes);
        if (expectDistant != 0 || block.distant)
            block = sumBlock<DistantIntegers<T>>(a, r, padded, into.maxRelative, codes);
        expectDistant = block.distant ? distantPatience : std::max(0, expectDistant - 1);
        return block;
    }

    HWY_INLINE void addReals(const BlockResult& block, double timesSum, double squaredRun) {
        into.squaredDifference += block.squaredDifference;
        into.squaredReference += block.squaredReference;
        into.squaredRun += squaredRun;
        into.differenceTimesSum += timesSum;
        into.absoluteDifference += block.absoluteDifference;
        into.maxAbsolute = std::max(into.maxAbsolute, block.maxAbsolute);
        into.maxRelative = std::max(into.maxRelative, block.maxRelative);
    }

    HWY_INLINE void addIntegers(const BlockResult& block, std::size_t n, std::size_t padded) {
        const std::size_t zeros = addHistogram(codes, padded, block.ulpMax, into.ulpHistogram);
        into.ulpHistogram[0] -= padded - n;
        into.count += n;
        into.ulpMax = std::max(into.ulpMax, block.ulpMax);
        into.ulpSumLow += block.ulpSumLow;
        into.ulpSumHigh += block.ulpSumHigh;
        const std::uint64_t changed = padded - zeros + block.zeroPairs;
        into.changed += changed;
        into.signFlips += block.signFlips;
        expectIdentical = changed == 0;
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
