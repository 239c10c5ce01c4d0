// SPDX-License-Identifier: GPL-3.0-or-later
// By SIMD, not std::log, because it runs among Qt's drawing, whose AVX code leaves the upper halves of
// the registers in use: std::log was measured to take 30 times as long there.
#include "analysis/Logarithms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "analysis/Logarithms.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep, must precede highway.h
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace driftscope::detail {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void logarithms(double* values, std::size_t n) {
    const hn::ScalableTag<double> d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        hn::StoreU(hn::Log(d, hn::LoadU(d, values + i)), d, values + i);
    if (i == n)
        return;
    HWY_ALIGN double last[HWY_MAX_BYTES / sizeof(double)];
    std::fill_n(last, lanes, 1.0);
    std::copy(values + i, values + n, last);
    hn::Store(hn::Log(d, hn::Load(d, last)), d, last);
    std::copy_n(last, n - i, values + i);
}

} // namespace HWY_NAMESPACE
} // namespace driftscope::detail
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace driftscope {

namespace detail {
HWY_EXPORT(logarithms);
} // namespace detail

void takeLogarithms(std::span<double> values) {
    using namespace detail;
    HWY_DYNAMIC_DISPATCH(logarithms)(values.data(), values.size());
}

} // namespace driftscope
#endif // HWY_ONCE
