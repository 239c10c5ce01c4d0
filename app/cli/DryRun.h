// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "execution/DataCheck.h"
#include "study/Study.h"

#include <cstddef>
#include <filesystem>
#include <vector>

namespace driftscope::cli {

/// On stderr: settings that change nothing, and what else is allowed but hardly meant.
void warn(const Study& study, const CheckedData& data);

/// Lists the chosen runs of a study with the time and disk that each would take, found by training a few steps
/// of it without recording them. Returns the exit code: RunsMissing if some would be unavailable or fail. Throws
/// StudyError for bad data.
int dryRun(const Study& study, const std::vector<std::size_t>& chosen, const std::filesystem::path& worker, bool json);

} // namespace driftscope::cli
