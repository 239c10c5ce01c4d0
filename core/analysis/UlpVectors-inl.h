// SPDX-License-Identifier: GPL-3.0-or-later
// ULP distances of vectors, and the bins they belong to. Included once per instruction set, by
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

template <typename T>
using DBits = hn::ScalableTag<typename FloatBits<T>::Unsigned>;
template <typename T>
using VBits = hn::Vec<DBits<T>>;

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
    // The larger minus the smaller always fits the unsigned type, which a signed difference would
    // not.
    return hn::BitCast(d, hn::Sub(hn::Max(magnitudeA, placeR), hn::Min(magnitudeA, placeR)));
}

// ulpDistance for vectors: any elements.
template <typename T>
HWY_INLINE VBits<T> ulpOfAny(VBits<T> a, VBits<T> r) {
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

// The bin of a distance as a bit: storeBinBits writes, for every distance, a word in which only the
// highest bit of the distance is set, or bit 31 if that is higher, or none for 0. The highest bit
// is what a float32 keeps once its mantissa is cleared. storeNearBinBits is for distances below
// nearLimit.
constexpr std::uint64_t nearLimit = std::uint64_t{1} << 20;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

// Rounded towards zero: a distance just below a power of two must not reach it.
HWY_INLINE void storeBinBits(VBits<float> distance, std::uint32_t* bits) {
    const __m512 value =
        _mm512_cvt_roundepu32_ps(distance.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m512i power =
        _mm512_and_si512(_mm512_castps_si512(value), _mm512_set1_epi32(0x7f800000));
    _mm512_storeu_si512(bits, _mm512_cvttps_epu32(_mm512_castsi512_ps(power)));
}

HWY_INLINE void storeBinBits(VBits<double> distance, std::uint32_t* bits) {
    const __m256 value =
        _mm512_cvt_roundepu64_ps(distance.raw, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256 limited = _mm256_min_ps(value, _mm256_set1_ps(0x1p31f));
    const __m256i power =
        _mm256_and_si256(_mm256_castps_si256(limited), _mm256_set1_epi32(0x7f800000));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(bits),
                        _mm256_cvttps_epu32(_mm256_castsi256_ps(power)));
}

template <class V>
HWY_INLINE void storeNearBinBits(V distance, std::uint32_t* bits) {
    storeBinBits(distance, bits);
}

#else

// For distances below nearLimit, which float32 holds exactly. Adding 2^23 moves the power of two to
// its place in the mantissa.
HWY_INLINE void storeNearBinBits(VBits<float> distance, std::uint32_t* bits) {
    const DBits<float> d;
    const hn::RebindToSigned<DBits<float>> di;
    const hn::RebindToFloat<DBits<float>> df;
    const auto value = hn::BitCast(d, hn::ConvertTo(df, hn::BitCast(di, distance)));
    const auto power = hn::BitCast(df, hn::And(value, hn::Set(d, 0x7f800000U)));
    const auto placed = hn::BitCast(d, hn::Add(power, hn::Set(df, 0x1p23f)));
    hn::StoreU(hn::And(placed, hn::Set(d, 0x007fffffU)), d, bits);
}

// For all distances: each bit spreads to all lower ones; what is left without the next is the
// highest.
HWY_INLINE void storeBinBits(VBits<float> distance, std::uint32_t* bits) {
    const DBits<float> d;
    auto x = distance;
    x = hn::Or(x, hn::ShiftRight<1>(x));
    x = hn::Or(x, hn::ShiftRight<2>(x));
    x = hn::Or(x, hn::ShiftRight<4>(x));
    x = hn::Or(x, hn::ShiftRight<8>(x));
    x = hn::Or(x, hn::ShiftRight<16>(x));
    hn::StoreU(hn::Xor(x, hn::ShiftRight<1>(x)), d, bits);
}

// For distances below 2^32, which float64 holds exactly: as mantissas they are numbers from 2^52
// on.
HWY_INLINE void storeNearBinBits(VBits<double> distance, std::uint32_t* bits) {
    const DBits<double> d;
    const hn::RebindToFloat<DBits<double>> df;
    const hn::Rebind<std::uint32_t, DBits<double>> d32;
    const auto base = hn::Set(df, 0x1p52);
    const auto value = hn::Sub(hn::BitCast(df, hn::Or(distance, hn::BitCast(d, base))), base);
    const auto power = hn::And(hn::BitCast(d, value), hn::Set(d, 0x7ff0000000000000U));
    const auto placed = hn::BitCast(d, hn::Add(hn::BitCast(df, power), base));
    hn::StoreU(hn::TruncateTo(d32, placed), d32, bits);
}

HWY_INLINE void storeBinBits(VBits<double> distance, std::uint32_t* bits) {
    const DBits<double> d;
    const hn::RebindToSigned<DBits<double>> di;
    const auto large = hn::Gt(hn::BitCast(di, hn::ShiftRight<31>(distance)), hn::Zero(di));
    const auto last = hn::Set(di, std::int64_t{1} << 31);
    const auto limited = hn::IfThenElse(large, last, hn::BitCast(di, distance));
    storeNearBinBits(hn::BitCast(d, limited), bits);
}

#endif

#endif // HWY_TARGET != HWY_SCALAR
} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#endif // per-target include guard
