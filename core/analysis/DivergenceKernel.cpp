// SPDX-License-Identifier: GPL-3.0-or-later
// The SIMD pass, compiled once per instruction set and chosen at run time. It works in blocks that
// fit the first-level cache. Each block is first hoped to be like the one before: a block with no
// changed bit needs little more than a comparison. Blocks that the fast arithmetic cannot do
// exactly (non-finite elements, squares outside the range of float64) show in their own sums and
// are done again by element.

// Vectors are members of structs here, which scalable vector types cannot be.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "analysis/DivergenceKernel.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep, must precede highway.h
#include <hwy/highway.h>

#include "analysis/BitCounts-inl.h"
#include "analysis/BlockSums-inl.h"
#include "analysis/DivergenceTotals.h"
#include "analysis/UlpVectors-inl.h"

#include <algorithm>
#include <cmath>

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

// Elements per block: those of float32 and their bin bits stay within 32 KiB of first-level cache.
constexpr std::size_t blockSize = 2048;
// Tails are padded with zeros to whole groups of BitCounts, of 16 lanes at most.
constexpr std::size_t padding = BitCounts::groupSize * 16;

// Blocks in a row without a distant element before the pass for near tensors is tried again.
constexpr int distantPatience = 16;

// Whether no square that counts was lost at the ends of the range of float64. A square below
// 2^-1022 is rounded, but a block of them is not worth a bit of a sum above 2^-900.
template <typename T>
HWY_INLINE bool squaresInRange(double sum, const T* x, std::size_t n) {
    if (sizeof(T) == 4 || sum > 0x1p-900)
        return std::isfinite(sum);
    return std::all_of(x, x + n, [](T value) { return value == 0; });
}

// The sum of products is in range if the two sums of squares are.
template <typename T>
HWY_INLINE bool exact(const BlockResult& block, const T* r, std::size_t n) {
    if (!squaresInRange(block.squaredReference, r, n))
        return false;
    if (sizeof(T) == 4 || block.squaredDifference > 0x1p-900)
        return std::isfinite(block.squaredDifference);
    return block.absoluteDifference == 0;
}

// One block after the other. `padded` elements are readable; the last padded - n of them are zeros,
// which add nothing but pairs of distance 0.
template <typename T>
class BlockPass {
public:
    HWY_INLINE explicit BlockPass(DivergenceTotals& into) : m_into(into) {}

    HWY_INLINE void add(const T* a, const T* r, std::size_t n, std::size_t padded) {
        if (m_expectIdentical) {
            const IdenticalResult same = sumIdentical(a, r, padded);
            m_expectIdentical = same.identical;
            if (same.identical && squaresInRange(same.squares, r, n)) {
                m_into.squaredReference += same.squares;
                m_into.squaredRun += same.squares;
                m_into.product += same.squares;
                m_into.count += n;
                m_into.ulpHistogram[0] += n;
                return;
            }
        }
        const BlockResult block = sum(a, r, padded);
        m_expectIdentical = block.ulpMax == 0 && block.zeroPairs == 0;
        const double timesSum = 2 * block.differenceTimesReference + block.squaredDifference;
        Products products{block.squaredReference + timesSum,
                          block.squaredReference + block.differenceTimesReference};
        // a is much the smaller: what the cancellation has left is not enough.
        if (products.squaredRun < block.squaredReference / 16)
            products = sumProducts(a, r, padded);
        if (!exact(block, r, n) || !squaresInRange(products.squaredRun, a, n)) {
            measureElements(a, r, n, m_into);
            return;
        }
        addReals(block, timesSum, products);
        addIntegers(block, n, padded);
    }

    // Call once, after the last block: the histogram is ready then.
    HWY_INLINE void finish() {
        const auto counts = m_counts.finish();
        std::uint64_t nonzero = 0;
        for (std::size_t bit = 0; bit < counts.size(); ++bit) {
            m_into.ulpHistogram[bit + 1] += counts[bit];
            nonzero += counts[bit];
        }
        m_into.ulpHistogram[0] += m_counted - nonzero;
        m_into.changed += nonzero;
    }

private:
    HWY_INLINE BlockResult sum(const T* a, const T* r, std::size_t padded) {
        BlockResult block;
        if (m_expectDistant == 0)
            block = sumBlock<NearIntegers<T>>(a, r, padded, m_into.maxRelative, m_binBits);
        if (m_expectDistant != 0 || block.distant)
            block = sumBlock<DistantIntegers<T>>(a, r, padded, m_into.maxRelative, m_binBits);
        m_expectDistant = block.distant ? distantPatience : std::max(0, m_expectDistant - 1);
        return block;
    }

    HWY_INLINE void addReals(const BlockResult& block, double timesSum, const Products& products) {
        m_into.squaredDifference += block.squaredDifference;
        m_into.squaredReference += block.squaredReference;
        m_into.squaredRun += products.squaredRun;
        m_into.product += products.product;
        m_into.differenceTimesSum += timesSum;
        m_into.absoluteDifference += block.absoluteDifference;
        m_into.maxAbsolute = std::max(m_into.maxAbsolute, block.maxAbsolute);
        m_into.maxRelative = std::max(m_into.maxRelative, block.maxRelative);
    }

    HWY_INLINE void addIntegers(const BlockResult& block, std::size_t n, std::size_t padded) {
        m_counts.add(m_binBits, padded);
        m_counted += n;
        m_into.count += n;
        m_into.ulpMax = std::max(m_into.ulpMax, block.ulpMax);
        m_into.ulpSumLow += block.ulpSumLow;
        m_into.ulpSumHigh += block.ulpSumHigh;
        m_into.changed += block.zeroPairs;
        m_into.signFlips += block.signFlips;
    }

    DivergenceTotals& m_into;
    bool m_expectIdentical = true;
    int m_expectDistant = 0;
    std::uint64_t m_counted = 0; ///< elements that m_counts has seen
    BitCounts m_counts;
    HWY_ALIGN std::uint32_t m_binBits[blockSize];
};

template <typename T>
void measureAll(const T* a, const T* r, std::size_t n, DivergenceTotals& into) {
    BlockPass<T> pass(into);
    std::size_t i = 0;
    for (; i + blockSize <= n; i += blockSize)
        pass.add(a + i, r + i, blockSize, blockSize);
    const std::size_t left = n - i;
    if (left != 0) {
        const std::size_t padded = (left + padding - 1) / padding * padding;
        HWY_ALIGN T lastA[blockSize];
        HWY_ALIGN T lastR[blockSize];
        std::copy_n(a + i, left, lastA);
        std::copy_n(r + i, left, lastR);
        std::fill(lastA + left, lastA + padded, T{0});
        std::fill(lastR + left, lastR + padded, T{0});
        pass.add(lastA, lastR, left, padded);
    }
    pass.finish();
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
        prefetch(a + i, r + i);
        const auto distance =
            ulpOfAny<T>(hn::BitCast(d, hn::LoadU(df, a + i)), hn::BitCast(d, hn::LoadU(df, r + i)));
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
