// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the data of a study's runs before anything of it is created: bad data is bad input, not a study of failed runs.
#pragma once

#include "study/RunConfig.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

struct CheckedData {
    std::vector<std::int64_t> samples; ///< per run; 0 where it could not be told, which is for the run to explain
    std::vector<std::string> warnings; ///< a sentence each, for what is allowed but hardly meant
};

/// Has a worker, which this process's memory does not suffer for, read every data set that the runs name, each once.
/// Throws DataError that names the file and what is allowed, StudyError if data and settings can't go together, and
/// ExecutionError if the worker can't be started. A stop request ends it with what is known.
CheckedData checkData(std::span<const RunConfig> runs, const std::filesystem::path& worker, std::stop_token stop = {});

} // namespace driftscope
