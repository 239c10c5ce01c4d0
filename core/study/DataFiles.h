// SPDX-License-Identifier: GPL-3.0-or-later
// Which files in a folder make a data set that Driftscope reads.
#pragma once

#include "study/RunConfig.h"
#include "study/Setting.h"

#include <filesystem>
#include <string>

namespace driftscope {

/// "train-images" with ending "idx3-ubyte": plain or .gz, '-' or '.' before the ending; empty if none.
std::filesystem::path findIdxFile(const std::filesystem::path& folder, const std::string& stem,
                                  const std::string& ending);

/// data_batch_N.bin, plain or .gz; empty if none.
std::filesystem::path findCifarFile(const std::filesystem::path& folder, int batch);

/// Data that is missing or malformed: names the file, what was expected and how to get it.
struct DataError : StudyError {
    using StudyError::StudyError;
};

/// The folder that the configuration reads: its path, or where Debian installs the data set.
std::filesystem::path dataFolder(const DataConfig& config);

/// Throws DataError if the files that the configuration needs are not there.
void requireDataFiles(const DataConfig& config);

/// The data kind, "idx" or "cifar10", that a folder's files make. Throws DataError that says what is
/// looked for.
std::string detectDataKind(const std::filesystem::path& folder);

} // namespace driftscope
