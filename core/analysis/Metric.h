// SPDX-License-Identifier: GPL-3.0-or-later
// The metrics of a divergence as a table: names, units and what they mean, for files, tables and menus.
#pragma once

#include "analysis/Divergence.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace driftscope {

enum class Metric {
    L2, RelativeL2, MaxAbsolute, MeanAbsolute, MaxRelative, CosineDistance,
    UlpMax, UlpMean, UlpP50, UlpP99, Changed, SignFlips, Nonfinite,
};
inline constexpr std::size_t metricCount = 13;

struct MetricInfo {
    Metric metric;
    std::string_view key;   ///< in files and on the command line: "rel_l2"
    std::string_view title; ///< "relative L2 distance"
    std::string_view unit;  ///< "", "ULP", "weight units", "elements"
    std::string_view help;  ///< definition in one sentence
};

std::span<const MetricInfo> metrics();
const MetricInfo& infoOf(Metric metric);
std::optional<Metric> findMetric(std::string_view key);

/// Value of a metric that the sums alone give: all but UlpP50 and UlpP99, which need the elements.
double valueOf(const Divergence& divergence, Metric metric);

} // namespace driftscope
