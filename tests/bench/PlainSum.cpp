// SPDX-License-Identifier: GPL-3.0-or-later
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/PlainSum.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h> // IWYU pragma: keep, must precede highway.h
#include <hwy/highway.h>

#include "bench/PlainSum.h"

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace driftscope::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool prefetched, typename T>
T sumBoth(const T* a, const T* r, std::size_t n) {
    const hn::ScalableTag<T> d;
    constexpr std::size_t ahead = 4096 / sizeof(T);
    const std::size_t lanes = hn::Lanes(d);
    auto a0 = hn::Zero(d), a1 = hn::Zero(d), a2 = hn::Zero(d), a3 = hn::Zero(d);
    auto r0 = hn::Zero(d), r1 = hn::Zero(d), r2 = hn::Zero(d), r3 = hn::Zero(d);
    std::size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        if constexpr (prefetched) {
            for (std::size_t k = 0; k < 4 * lanes; k += 64 / sizeof(T)) {
                hwy::Prefetch(a + i + k + ahead);
                hwy::Prefetch(r + i + k + ahead);
            }
        }
        a0 = hn::Add(a0, hn::LoadU(d, a + i));
        r0 = hn::Add(r0, hn::LoadU(d, r + i));
        a1 = hn::Add(a1, hn::LoadU(d, a + i + lanes));
        r1 = hn::Add(r1, hn::LoadU(d, r + i + lanes));
        a2 = hn::Add(a2, hn::LoadU(d, a + i + 2 * lanes));
        r2 = hn::Add(r2, hn::LoadU(d, r + i + 2 * lanes));
        a3 = hn::Add(a3, hn::LoadU(d, a + i + 3 * lanes));
        r3 = hn::Add(r3, hn::LoadU(d, r + i + 3 * lanes));
    }
    const auto sumA = hn::Add(hn::Add(a0, a1), hn::Add(a2, a3));
    const auto sumR = hn::Add(hn::Add(r0, r1), hn::Add(r2, r3));
    T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sumA, sumR)));
    for (; i < n; ++i)
        sum += a[i] + r[i];
    return sum;
}

float plainFloats(const float* a, const float* r, std::size_t n) {
    return sumBoth<false>(a, r, n);
}
double plainDoubles(const double* a, const double* r, std::size_t n) {
    return sumBoth<false>(a, r, n);
}
float prefetchedFloats(const float* a, const float* r, std::size_t n) {
    return sumBoth<true>(a, r, n);
}
double prefetchedDoubles(const double* a, const double* r, std::size_t n) {
    return sumBoth<true>(a, r, n);
}

} // namespace HWY_NAMESPACE
} // namespace driftscope::bench
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace driftscope::bench {

HWY_EXPORT(plainFloats);
HWY_EXPORT(plainDoubles);
HWY_EXPORT(prefetchedFloats);
HWY_EXPORT(prefetchedDoubles);

float plainSum(std::span<const float> a, std::span<const float> r) {
    return HWY_DYNAMIC_DISPATCH(plainFloats)(a.data(), r.data(), a.size());
}

double plainSum(std::span<const double> a, std::span<const double> r) {
    return HWY_DYNAMIC_DISPATCH(plainDoubles)(a.data(), r.data(), a.size());
}

float prefetchedSum(std::span<const float> a, std::span<const float> r) {
    return HWY_DYNAMIC_DISPATCH(prefetchedFloats)(a.data(), r.data(), a.size());
}

double prefetchedSum(std::span<const double> a, std::span<const double> r) {
    return HWY_DYNAMIC_DISPATCH(prefetchedDoubles)(a.data(), r.data(), a.size());
}

} // namespace driftscope::bench
#endif // HWY_ONCE
