// SPDX-License-Identifier: GPL-3.0-or-later
// ULP distances of vectors, and their histogram. Included once per instruction set, by
// DivergenceKernel.cpp only; not for HWY_SCALAR, which lacks the operations.
#if defined(DRIFTSCOPE_ULP_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DRIFTSCOPE_ULP_VECTORS_INL_H
#undef DRIFTSCOPE_ULP_VECTORS_INL_H
#else
#define DRIFTSCOPE_ULP_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include "analysis/DivergenceTotals.h"

HWY_BEFORE_NAMESPACE();
namespace driftscope::detail {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

template <typename T> using DBits = hn::ScalableTag<typename FloatBits<T>::Unsigned>;
template <typename T> using VBits = hn::Vec<DBits<T>>;

// Distance on the ordered integer line, for finite elements.
template <typename T> HWY_INLINE VBits<T> ulpOfFinite(VBits<T> a, VBits<T> r) {
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

// ulpDistance for vectors: any elements.
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

// A byte for each distance says its bin: 0 for 0, otherwise the exponent that the distance has as
// float32, which is 126 more than its number of significant bits; lastCode for the last bin.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Unsigned, and rounded towards zero: a distance just below a power of two must not reach it.
constexpr std::uint8_t lastCode = 126 + ulpBinCount - 1;

HWY_INLINE void storeCodes(VBits<float> distance, std::uint8_t* codes) {
    const __m512 value =
        _mm512_cvt_roundepu32_ps(distance.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m512i exponent = _mm512_srli_epi32(_mm512_castps_si512(value), 23);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes), _mm512_cvtepi32_epi8(exponent));
}

HWY_INLINE void storeCodes(VBits<double> distance, std::uint8_t* codes) {
    const __m256 value =
        _mm512_cvt_roundepu64_ps(distance.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256i exponent = _mm256_srli_epi32(_mm256_castps_si256(value), 23);
    const __m256i limited = _mm256_min_epu32(exponent, _mm256_set1_epi32(lastCode));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(codes), _mm256_cvtepi32_epi8(limited));
}

#else

// Only signed numbers convert in one instruction. Without the bit below the top one, rounding cannot
// carry into the next exponent; distances from 2^31 are negative, which sets the sign bit above the
// exponent, and saturate.
constexpr std::uint8_t lastCode = 255;

template <class D32> HWY_INLINE void storeCodes32(D32 d, hn::Vec<D32> distance, std::uint8_t* codes) {
    const hn::RebindToSigned<D32> di;
    const hn::RebindToFloat<D32> df;
    const hn::Rebind<std::uint8_t, D32> d8;
    const auto top = hn::AndNot(hn::ShiftRight<1>(distance), distance);
    const auto exponent =
        hn::ShiftRight<23>(hn::BitCast(d, hn::ConvertTo(df, hn::BitCast(di, top))));
    hn::StoreU(hn::DemoteTo(d8, hn::BitCast(di, exponent)), d8, codes);
}

HWY_INLINE void storeCodes(VBits<float> distance, std::uint8_t* codes) {
    storeCodes32(DBits<float>(), distance, codes);
}

HWY_INLINE void storeCodes(VBits<double> distance, std::uint8_t* codes) {
    const hn::Rebind<std::uint32_t, DBits<double>> d32;
    const hn::RebindToSigned<DBits<double>> di;
    // All bits set where the upper half or the top bit of the lower half is: the last bin either way.
    const auto large = hn::Gt(hn::BitCast(di, hn::ShiftRight<31>(distance)), hn::Zero(di));
    const auto saturated = hn::Or(hn::BitCast(di, distance), hn::VecFromMask(di, large));
    storeCodes32(d32, hn::TruncateTo(d32, hn::BitCast(DBits<double>(), saturated)), codes);
}

#endif

constexpr std::uint8_t codeOfBin(std::size_t bin) {
    return bin == 0 ? 0
           : bin == ulpBinCount - 1 ? lastCode
                                    : static_cast<std::uint8_t>(126 + bin);
}

HWY_INLINE std::size_t countCode(const std::uint8_t* codes, std::size_t n, std::uint8_t code) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto wanted = hn::Set(d, code);
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; i += hn::Lanes(d))
        count += hn::CountTrue(d, hn::Eq(hn::LoadU(d, codes + i), wanted));
    return count;
}

// Adds the n codes to the histogram; returns how many distances were 0. One pass for each bin from the
// largest down to where nothing is left: comparing 16 to 64 bytes at once beats a table of counters even
// if all bins are there, and rounding fills only a few.
HWY_INLINE std::size_t addHistogram(const std::uint8_t* codes, std::size_t n, std::uint64_t ulpMax,
                                    std::array<std::uint64_t, ulpBinCount>& histogram) {
    std::size_t left = n;
    for (std::size_t bin = ulpBin(ulpMax); left != 0 && bin != 0; --bin) {
        const std::size_t count = countCode(codes, n, codeOfBin(bin));
        histogram[bin] += count;
        left -= count;
    }
    histogram[0] += left;
    return left;
}

#endif // HWY_TARGET != HWY_SCALAR
} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
