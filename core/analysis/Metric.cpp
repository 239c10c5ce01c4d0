// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Metric.h"

#include <algorithm>
#include <array>
#include <limits>

namespace driftscope {
namespace {

constexpr std::array<MetricInfo, metricCount> table{{
    {Metric::L2, "l2", "L2 distance", "weight units", "‖a − r‖₂: length of the difference"},
    {Metric::RelativeL2, "rel_l2", "relative L2 distance", "",
     "‖a − r‖₂ / ‖r‖₂: the difference's length as a share of the reference's"},
    {Metric::MaxAbsolute, "max_abs", "largest absolute difference", "weight units", "max |a − r| over the elements"},
    {Metric::MeanAbsolute, "mean_abs", "mean absolute difference", "weight units", "mean |a − r| over the elements"},
    {Metric::MaxRelative, "max_rel", "largest relative difference", "",
     "max |a − r| / |r| over the elements, |r| at least the smallest normal number"},
    {Metric::CosineDistance, "cosine_distance", "cosine distance", "",
     "1 − cos of the angle between a and r, exact for small angles"},
    {Metric::UlpMax, "ulp_max", "largest ULP distance", "ULP",
     "how many floating-point numbers lie between a and r, at most"},
    {Metric::UlpMean, "ulp_mean", "mean ULP distance", "ULP", "floating-point numbers between a and r, on average"},
    {Metric::UlpP50, "ulp_p50", "median ULP distance", "ULP", "half of the elements are at most so far apart"},
    {Metric::UlpP99, "ulp_p99", "99th percentile of ULP distance", "ULP",
     "99 % of the elements are at most so far apart"},
    {Metric::Changed, "changed", "share of changed elements", "", "share of the elements whose bits differ"},
    {Metric::SignFlips, "sign_flips", "sign flips", "elements", "elements whose sign differs, both non-zero"},
    {Metric::Nonfinite, "nonfinite", "non-finite on one side", "elements",
     "elements that are NaN or infinite in one of the two only"},
}};

} // namespace

std::span<const MetricInfo> metrics() { return table; }

const MetricInfo& infoOf(Metric metric) { return table[static_cast<std::size_t>(metric)]; }

std::optional<Metric> findMetric(std::string_view key) {
    const auto* found = std::ranges::find(table, key, &MetricInfo::key);
    return found == table.end() ? std::nullopt : std::optional(found->metric);
}

double valueOf(const Divergence& d, Metric metric) {
    switch (metric) {
    case Metric::L2: return l2(d);
    case Metric::RelativeL2: return relativeL2(d);
    case Metric::MaxAbsolute: return d.maxAbsolute;
    case Metric::MeanAbsolute: return meanAbsolute(d);
    case Metric::MaxRelative: return d.maxRelative;
    case Metric::CosineDistance: return cosineDistance(d);
    case Metric::UlpMax: return static_cast<double>(d.ulpMax);
    case Metric::UlpMean: return ulpMean(d);
    case Metric::Changed: return changedShare(d);
    case Metric::SignFlips: return static_cast<double>(d.signFlips);
    case Metric::Nonfinite: return static_cast<double>(d.nonfinite);
    case Metric::UlpP50:
    case Metric::UlpP99: break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

} // namespace driftscope
