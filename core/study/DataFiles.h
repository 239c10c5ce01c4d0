// SPDX-License-Identifier: GPL-3.0-or-later
// Which files make a data set that Driftscope reads.
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

/// CIFAR-100's train.bin, plain or .gz; empty if none.
std::filesystem::path findCifar100File(const std::filesystem::path& folder);

/// Data that is missing or malformed: names the file, what was expected and how to get it.
struct DataError : StudyError {
    using StudyError::StudyError;
};

/// The folder that the configuration reads: its path, or where Debian installs the data set.
std::filesystem::path dataFolder(const DataConfig& config);

/// Throws DataError if the files that the configuration needs are not there, or are not named as their kind is.
void requireDataFiles(const DataConfig& config);

/// Throws DataError if the file of a TorchScript module is not there.
void requireModelFile(const ModelConfig& config);

/// The data kind that a file's ending says, there or not ("npy", "safetensors" or "text"), or that a folder's
/// files make ("idx", "cifar10" or "cifar100"). Throws DataError that says what is looked for.
std::string detectDataKind(const std::filesystem::path& path);

} // namespace driftscope
