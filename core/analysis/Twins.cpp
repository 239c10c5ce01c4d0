// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Twins.h"

namespace driftscope {

std::optional<std::size_t> twinOf(const StudyResults& results, std::size_t run) {
    const RunConfig& config = results.runs.at(run).config;
    if (config.isTwin)
        return std::nullopt;
    for (std::size_t t = 0; t < results.runs.size(); ++t)
        if (const RunConfig& twin = results.runs[t].config; twin.isTwin && twin.settings == config.settings)
            return t;
    return std::nullopt;
}

std::optional<std::size_t> comparedTwinOf(const StudyResults& results, std::size_t run) {
    const std::optional<std::size_t> twin = twinOf(results, run);
    const std::optional<std::size_t> reference = results.runs.at(run).reference;
    if (!twin || !reference)
        return std::nullopt;
    const RunResult& result = results.runs[*twin];
    const bool hasRows = result.comparison && result.comparison->rows() > 0;
    return hasRows && result.reference && result.reference == twinOf(results, *reference) ? twin : std::nullopt;
}

std::optional<std::size_t> runOfTwin(const StudyResults& results, std::size_t twin) {
    const RunConfig& config = results.runs.at(twin).config;
    if (!config.isTwin)
        return std::nullopt;
    for (std::size_t i = 0; i < results.runs.size(); ++i)
        if (const RunConfig& run = results.runs[i].config;
            !run.isTwin && !run.isControl && run.settings == config.settings)
            return i;
    return std::nullopt;
}

bool isBesideItsRun(const StudyResults& results, std::size_t run) {
    return results.runs.at(run).config.isTwin && !results.folder.path.empty();
}

} // namespace driftscope
