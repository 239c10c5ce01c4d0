// SPDX-License-Identifier: GPL-3.0-or-later
#include "ViewDefaults.h"

#include "analysis/Twins.h"

#include <algorithm>
#include <cmath>

namespace driftscope {

std::int64_t lastStep(const StudyResults& results) {
    std::int64_t last = 0;
    for (const RunResult& run : results.runs)
        if (!run.steps.empty())
            last = std::max(last, run.steps.back());
    return last;
}

std::optional<std::size_t> mostDivergentRun(const StudyResults& results, Metric metric) {
    std::optional<std::size_t> farthest;
    double most = -1;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const auto& comparison = results.runs[i].comparison;
        if (!comparison || comparison->rows() == 0 || isBesideItsRun(results, i))
            continue;
        double value = comparison->value(metric, comparison->rows() - 1, 0);
        if (std::isnan(value)) // it differs, and how far is not kept
            value = 0;
        if (value > most) {
            most = value;
            farthest = i;
        }
    }
    return farthest;
}

} // namespace driftscope
