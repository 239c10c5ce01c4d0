// SPDX-License-Identifier: GPL-3.0-or-later
// How far one tensor is from another: one fused pass gathers mergeable sums, metrics are read from
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace driftscope {

/// Bins of the ULP histogram: 0, 1, 2–3, 4–7, …, 2^30…2^31−1, and 2^31 and above.
inline constexpr std::size_t ulpBinCount = 33;

/// Sums over the elements of one or many tensors. a is the run's value, r the reference's, both
/// read as float64. Sums of parts merge to the sums of the whole, so that aggregates over a layer
/// or a model are never averages of ratios.
///
/// Non-finite elements: NaN on both sides, and equal infinities, are equal: their distances are 0
/// (bits that differ, the payloads of two NaNs, still count as changed). Any other pair with a NaN
/// or an infinity makes the four distances and the metrics made of them +inf, is the largest
/// unsigned number of the type's width in ULP (2^32 − 1, 2^64 − 1), and counts in `nonfinite` where
/// only one side is non-finite. Σ a² and Σ r² are over finite elements, the other sums of products
/// over finite pairs.
///
/// Subnormal numbers are numbers like any other. The sums are long double because they can be
/// outside the range of float64 where what is made of them is not: l2 of differences of 1e200 or
/// 1e-200 is right.
///
/// Counts, bins, ulpMax, ulpSum and maxAbsolute are the same on every machine; the other sums may
/// differ in the last bits with the instruction set.
struct Divergence {
    std::uint64_t count = 0;
    long double squaredDifference = 0; ///< Σ (a − r)²
    long double squaredReference = 0;  ///< Σ r²
    long double squaredRun = 0;        ///< Σ a²
    long double product = 0;           ///< Σ a r
    long double differenceTimesSum = 0; ///< Σ (a − r)(a + r): Σ a² − Σ r² without cancellation
    long double absoluteDifference = 0; ///< Σ |a − r|
    double maxAbsolute = 0;             ///< max |a − r|
    double maxRelative = 0;             ///< max |a − r| / max(|r|, smallest normal of the type)
    std::uint64_t ulpMax = 0;           ///< on the ordered integer line; −0 and +0 are 0 apart
    double ulpSum = 0;
    std::uint64_t changed = 0;   ///< elements whose bits differ
    std::uint64_t signFlips = 0; ///< elements whose signs differ, both non-zero, neither NaN
    std::uint64_t nonfinite = 0; ///< elements non-finite on one side only
    std::array<std::uint64_t, ulpBinCount> ulpHistogram{};

    bool operator==(const Divergence&) const = default;
};

/// One fused pass over a and r, which must have the same length (std::invalid_argument if not).
/// Runs the widest SIMD the machine has (Highway, dispatched at run time).
Divergence measureDivergence(std::span<const float> a, std::span<const float> r);
Divergence measureDivergence(std::span<const double> a, std::span<const double> r);

/// Adds the sums of another part of the same whole.
void merge(Divergence& into, const Divergence& part);

// The metrics of a Divergence; see the table in README.md. All are 0 for empty tensors.

/// ‖a − r‖₂
double l2(const Divergence& d);
/// ‖a − r‖₂ / ‖r‖₂; 0 where both are 0, +inf where only ‖r‖ is 0.
double relativeL2(const Divergence& d);
/// Mean |a − r|.
double meanAbsolute(const Divergence& d);
/// 1 − cos(a, r) = ‖â − r̂‖²/2; 0 if both are 0, 1 if one is.
double cosineDistance(const Divergence& d);
double ulpMean(const Divergence& d);
/// Share of elements whose bits differ.
double changedShare(const Divergence& d);

} // namespace driftscope
