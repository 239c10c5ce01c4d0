// SPDX-License-Identifier: GPL-3.0-or-later
// Which run of a study is the float64 twin of which.
#pragma once

#include "analysis/StudyResults.h"

#include <cstddef>
#include <optional>

namespace driftscope {

/// Position of the run's float64 twin. None where it has none, and for a twin.
std::optional<std::size_t> twinOf(const StudyResults& results, std::size_t run);

/// The same, where the two divergences stand beside each other: the twin has been compared with the twin of the run's
/// reference, and has rows.
std::optional<std::size_t> comparedTwinOf(const StudyResults& results, std::size_t run);

/// Position of the run that this one is the float64 twin of. None where it is no twin, or its run is not there.
std::optional<std::size_t> runOfTwin(const StudyResults& results, std::size_t twin);

/// The twin of a run of the same study: it is shown with that run, and not counted as one of its own. False for run
/// files opened by themselves, each of which was asked for.
bool isBesideItsRun(const StudyResults& results, std::size_t run);

} // namespace driftscope
