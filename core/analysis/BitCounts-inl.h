// SPDX-License-Identifier: GPL-3.0-or-later
// How often each bit is set in a stream of 32-bit words. Included once per instruction set, by
// DivergenceKernel.cpp only.
#if defined(DRIFTSCOPE_BIT_COUNTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DRIFTSCOPE_BIT_COUNTS_INL_H
#undef DRIFTSCOPE_BIT_COUNTS_INL_H
#else
#define DRIFTSCOPE_BIT_COUNTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace driftscope::detail {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

using DWord = hn::ScalableTag<std::uint32_t>;
using VWord = hn::Vec<DWord>;

// Full adder for each bit: sum keeps the ones, the carry is returned.
HWY_INLINE VWord addBits(VWord& sum, VWord b, VWord c) {
    const VWord a = sum;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    sum = VWord{_mm512_ternarylogic_epi32(a.raw, b.raw, c.raw, 0x96)};
    return VWord{_mm512_ternarylogic_epi32(a.raw, b.raw, c.raw, 0xe8)};
#else
    const VWord either = hn::Xor(a, b);
    sum = hn::Xor(either, c);
    return hn::Or(hn::And(a, b), hn::And(either, c));
#endif
}

// A binary counter for every bit of a vector, stored by digit: digit k of all counters is one
// vector. Adding a vector takes two full adders at most, whatever the words are (Harley and Seal's
// population count, kept apart by position), where a table of counters would take a scalar
// instruction or more for every word.
class BitCounts {
public:
    // Words are added in groups of 16 vectors; a shorter group is filled up with zeros.
    static constexpr std::size_t groupSize = 16;
    HWY_INLINE static std::size_t wordsPerGroup() { return groupSize * hn::Lanes(DWord()); }

    HWY_INLINE BitCounts() {
        for (std::size_t digit = 0; digit < digitCount; ++digit)
            hn::Store(hn::Zero(DWord()), DWord(), digits(digit));
    }

    // n: a multiple of wordsPerGroup(); words aligned to vectors.
    HWY_INLINE void add(const std::uint32_t* words, std::size_t n) {
        for (std::size_t i = 0; i < n; i += wordsPerGroup()) {
            hn::Store(addGroup(0, words + i), DWord(), m_pending + m_pendingCount * maxLanes);
            if (++m_pendingCount == groupSize) {
                addDigit(8, addGroup(4, m_pending, maxLanes));
                m_pendingCount = 0;
            }
        }
    }

    // How often each bit was set, to be called once, at the end.
    HWY_INLINE std::array<std::uint64_t, 32> finish() {
        for (std::size_t i = 0; i < m_pendingCount; ++i)
            addDigit(4, hn::Load(DWord(), m_pending + i * maxLanes));
        std::array<std::uint64_t, 32> counts{};
        for (std::size_t digit = 0; digit < digitCount; ++digit) {
            if (isZero(hn::Load(DWord(), digits(digit))))
                continue;
            const std::uint64_t weight = std::uint64_t{1} << digit;
            for (std::size_t lane = 0; lane < hn::Lanes(DWord()); ++lane)
                for (std::uint32_t bits = digits(digit)[lane]; bits != 0; bits &= bits - 1)
                    counts[static_cast<std::size_t>(std::countr_zero(bits))] += weight;
        }
        return counts;
    }

private:
    static constexpr std::size_t digitCount = 48;
    static constexpr std::size_t maxLanes = HWY_MAX_BYTES / sizeof(std::uint32_t);

    HWY_INLINE static bool isZero(VWord v) {
        return hn::AllTrue(DWord(), hn::Eq(v, hn::Zero(DWord())));
    }

    HWY_INLINE std::uint32_t* digits(std::size_t digit) { return m_digits + digit * maxLanes; }

    // Adds 16 vectors of the weight of `digit` to four digits from there on; returns their carry.
    HWY_INLINE VWord addGroup(std::size_t digit, const std::uint32_t* words,
                              std::size_t stride = hn::Lanes(DWord())) {
        const DWord d;
        VWord ones = hn::Load(d, digits(digit));
        VWord twos = hn::Load(d, digits(digit + 1));
        VWord fours = hn::Load(d, digits(digit + 2));
        VWord eights = hn::Load(d, digits(digit + 3));
        VWord carries[2];
        for (std::size_t half = 0; half < 2; ++half) {
            const std::uint32_t* w = words + half * 8 * stride;
            const VWord twoA = addBits(ones, hn::Load(d, w), hn::Load(d, w + stride));
            const VWord twoB =
                addBits(ones, hn::Load(d, w + 2 * stride), hn::Load(d, w + 3 * stride));
            const VWord twoC =
                addBits(ones, hn::Load(d, w + 4 * stride), hn::Load(d, w + 5 * stride));
            const VWord twoD =
                addBits(ones, hn::Load(d, w + 6 * stride), hn::Load(d, w + 7 * stride));
            const VWord fourA = addBits(twos, twoA, twoB);
            const VWord fourB = addBits(twos, twoC, twoD);
            carries[half] = addBits(fours, fourA, fourB);
        }
        const VWord carry = addBits(eights, carries[0], carries[1]);
        hn::Store(ones, d, digits(digit));
        hn::Store(twos, d, digits(digit + 1));
        hn::Store(fours, d, digits(digit + 2));
        hn::Store(eights, d, digits(digit + 3));
        return carry;
    }

    HWY_INLINE void addDigit(std::size_t digit, VWord carry) {
        const DWord d;
        for (; digit < digitCount && !isZero(carry); ++digit) {
            const VWord sum = hn::Load(d, digits(digit));
            hn::Store(hn::Xor(sum, carry), d, digits(digit));
            carry = hn::And(sum, carry);
        }
    }

    HWY_ALIGN std::uint32_t m_digits[digitCount * maxLanes];
    HWY_ALIGN std::uint32_t m_pending[groupSize * maxLanes];
    std::size_t m_pendingCount = 0;
};

#endif // HWY_TARGET != HWY_SCALAR
} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
