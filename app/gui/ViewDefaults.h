// SPDX-License-Identifier: GPL-3.0-or-later
// What a view shows until the user has chosen.
#pragma once

#include "analysis/StudyResults.h"

#include <cstdint>
#include <optional>

namespace driftscope {

/// The last step that any run has recorded; 0 if there is none.
std::int64_t lastStep(const StudyResults& results);

/// The run that is farthest from its reference at its last step: it says most. Not the twin of
/// another. None if nothing is compared.
std::optional<std::size_t> mostDivergentRun(const StudyResults& results, Metric metric);

} // namespace driftscope
