// SPDX-License-Identifier: GPL-3.0-or-later
// The fastest way to read two arrays once that arithmetic allows: a sum. It is what the divergence
// is measured against.
#pragma once

#include <span>

namespace driftscope::bench {

/// Sum of all elements of both arrays, which must have the same length. The widest SIMD the machine
/// has, eight accumulators, both arrays side by side.
float plainSum(std::span<const float> a, std::span<const float> r);
double plainSum(std::span<const double> a, std::span<const double> r);

/// The same, asking for memory ahead as measureDivergence does.
float prefetchedSum(std::span<const float> a, std::span<const float> r);
double prefetchedSum(std::span<const double> a, std::span<const double> r);

} // namespace driftscope::bench
