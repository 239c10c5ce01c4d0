// SPDX-License-Identifier: GPL-3.0-or-later
// Creates an empty run file and says where in it each dataset's bytes are; private to core/recording.
#pragma once

#include "recording/RunWriter.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace driftscope {

/// A contiguous dataset: rows of `rowBytes` from `offset` on.
struct DatasetPlace {
    std::uint64_t offset = 0;
    std::uint64_t rowBytes = 0;
};

struct RunLayout {
    DatasetPlace progress, message, sampleIds, batchDigest;
    std::vector<DatasetPlace> scalars;
    std::vector<DatasetPlace> weights, gradients; ///< per parameter; may be empty
    std::vector<DatasetPlace> weightDigests, gradientDigests;
    std::vector<DatasetPlace> extras;
};

/// Creates `file` with every group, dataset and attribute and closes it. The file is sparse yet.
RunLayout createRunFile(const std::filesystem::path& file, const RunSchema& schema);

/// Where /progress and /message are in an existing file.
RunLayout findOutcome(const std::filesystem::path& file);

} // namespace driftscope
