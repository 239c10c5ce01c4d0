// SPDX-License-Identifier: GPL-3.0-or-later
// Samples with their targets in memory, whatever file they come from. No LibTorch here.
#pragma once

#include "study/DataFiles.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace driftscope {

/// Values of all samples, one behind the other, each of the set's shape: pixels 0 … 255, real numbers, or
/// tokens.
using InputValues = std::variant<std::vector<std::uint8_t>, std::vector<float>, std::vector<std::int64_t>>;

/// Targets of all samples, one behind the other: class labels or tokens, or real numbers.
using TargetValues = std::variant<std::vector<std::int64_t>, std::vector<float>>;

struct SampleSet {
    std::int64_t samples = 0;
    std::vector<std::int64_t> shape;       ///< of one input: channels, height, width; or its tokens
    std::vector<std::int64_t> targetShape; ///< of one target: empty for a class, context for text
    std::int64_t classes = 0;              ///< values that a label or token can take; 0 for real targets
    InputValues inputs;
    TargetValues targets;
    std::string description; ///< one line for reports: where from, how many, what was done to them
};

/// Loads what the configuration asks for, at most `limit` samples. Targets that text is padded with are
/// `ignoreIndex`. Throws DataError that names the file, what was expected and how to get it.
SampleSet loadSamples(const DataConfig& config, std::int64_t ignoreIndex);

} // namespace driftscope
