// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a study's recordings fit on the disk, before the first of them begins.
#pragma once

#include "recording/StudyFolder.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

namespace driftscope::cli {

/// Throws UsageError, with both sizes, if these runs of the folder (which need not exist yet) surely need more space
/// than its disk has. Where that can't be ruled out from the settings, a worker counts what the reference records,
/// for as long as `isStopped` is false. Runs whose size does not follow from the reference's count as nothing, and a
/// run that turns out larger is still refused by its own worker.
void requireSpaceFor(const StudyFolder& folder, const std::vector<std::size_t>& runs,
                     const std::filesystem::path& worker, const std::function<bool()>& isStopped);

/// The share of the reference's recording that another run takes at least; 0 where that can't be told.
double sizeBeside(const RunConfig& run, const RunConfig& reference);

} // namespace driftscope::cli
