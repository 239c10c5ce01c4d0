// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/TwinRatio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace driftscope {
namespace {

constexpr std::size_t rowsOfMedian = 5;
/// Two trainings that part by rounding alone were never seen to do so faster than this per step.
constexpr double fastestGrowth = 1.2;
/// More than a step's growth and any flip of a ReLU.
constexpr double leapFactor = 0x1p15;

struct Row {
    std::int64_t step;
    double runs, twins;
};

std::vector<Row> commonRows(const RunComparison& runs, const RunComparison& twins) {
    std::vector<Row> rows;
    for (std::size_t i = 0, j = 0; i < runs.rows() && j < twins.rows();) {
        if (runs.steps[i] == twins.steps[j]) {
            rows.push_back({runs.steps[i], runs.value(Metric::RelativeL2, i, 0), twins.value(Metric::RelativeL2, j, 0)});
            ++i;
            ++j;
        } else {
            ++(runs.steps[i] < twins.steps[j] ? i : j);
        }
    }
    return rows;
}

double ratioOfGradients(const RecordedEvidence& runs, const RecordedEvidence& twins) {
    for (const EvidenceRow& row : runs.rows) {
        if (!row.differsInGradient)
            continue;
        const auto same = std::ranges::find(twins.rows, row.step, &EvidenceRow::step);
        if (same == twins.rows.end() || !row.gradient || !same->gradient || row.gradient->relative == 0)
            break;
        return same->gradient->relative / row.gradient->relative;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

double medianOf(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

} // namespace

TwinRatio twinRatio(const RunComparison& runs, const RunComparison& twins, double saturation,
                    const RecordedEvidence* recordedRuns, const RecordedEvidence* recordedTwins) {
    TwinRatio result;
    const std::vector<Row> rows = commonRows(runs, twins);
    if (recordedRuns && recordedTwins)
        result.ofGradients = ratioOfGradients(*recordedRuns, *recordedTwins);

    std::vector<double> ratios;
    for (const Row& row : rows) {
        if (!(row.runs > 0)) // also where it is not known
            continue;
        if (row.step == 0) {
            result.whyNot = "the initial weights differ already, and the twins begin from the same float32 values";
            return result;
        }
        if (row.runs >= saturation || std::isnan(row.twins))
            break;
        if (ratios.size() < rowsOfMedian)
            ratios.push_back(row.twins / row.runs);
    }
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const Row &before = rows[i - 1], &now = rows[i];
        if (!(now.runs > 0) || !(before.twins > 0) || now.twins / now.runs < functionRatio)
            continue;
        const double gap = static_cast<double>(now.step - before.step);
        const double growth = now.twins / before.twins;
        if (growth > leapFactor * std::pow(fastestGrowth, gap - 1) && result.leapStep < 0)
            result.leapStep = now.step;
        else if (growth > leapFactor && result.leapStep < 0 && result.unseenAfter < 0)
            result.unseenAfter = before.step;
    }
    if (!ratios.empty()) {
        result.median = medianOf(ratios);
        result.rows = ratios.size();
    }
    result.isUsable = result.rows > 0 || !std::isnan(result.ofGradients);
    if (!result.isUsable)
        result.whyNot = rows.empty() ? "the twins have no common recorded steps with the runs"
                                     : fmt::format("the weights are {:.0e} apart at the first recorded step that differs: "
                                                   "as far as any two trainings",
                                                   saturation);
    return result;
}

} // namespace driftscope
