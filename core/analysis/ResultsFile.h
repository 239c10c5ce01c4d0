// SPDX-License-Identifier: GPL-3.0-or-later
// study.h5: the results of a study, with a link to every run. Private to core/analysis.
#pragma once

#include "analysis/StudyResults.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace driftscope {

/// A comparison as study.h5 holds it, with what it was made from.
struct CachedComparison {
    std::string runId;
    std::string referenceRunId;
    std::shared_ptr<const RunComparison> comparison;
};

/// Comparisons by run. Empty if there is no file, or none that this version wrote: results can always
/// be computed again.
std::map<std::string, CachedComparison> readResultsFile(const std::filesystem::path& file);

/// Throws RecordingError.
void writeResultsFile(const std::filesystem::path& file, const StudyResults& results);

} // namespace driftscope
