// SPDX-License-Identifier: GPL-3.0-or-later
// Two arrays in a file, as NumPy and safetensors write them, made into a SampleSet: every check that does not
// depend on the format. No LibTorch here.
#pragma once

#include "training/ByteSource.h"
#include "training/SampleSet.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace driftscope {

struct ElementType {
    enum class Kind { Unsigned, Signed, Real, BrainReal } kind = Kind::Real; ///< BrainReal: bfloat16
    int bytes = 4;                                                           ///< 1, 2, 4 or 8
    bool isBigEndian = false;
};

/// An array in C order; its elements are still in the file. Nothing about it has been checked.
struct StoredArray {
    std::string name; ///< in messages: the file, and the array's name where the file has several
    ElementType type;
    std::vector<std::int64_t> shape; ///< samples first
    std::unique_ptr<ByteSource> data;
};

/// Text from an untrusted file, cut and in ASCII, fit for a message.
std::string printable(std::string text);

/// Places in `names` of the inputs (x, inputs, images or data) and the targets (y, targets or labels).
/// Throws DataError that lists what `file` has, unless there is exactly one of each.
std::pair<std::size_t, std::size_t> findArrays(const std::string& file, const std::vector<std::string>& names);

/// Inputs: uint8 of N×H×W or N×C×H×W become pixels, floating point of N×… real numbers, int32 and int64 of N×T
/// tokens. Targets: integers of N become class labels, 0 … classes − 1 or `ignoreIndex`, where classes is one
/// more than the largest that is loaded and at least 2; floating point of N×… real targets. The first `limit`
/// samples; `origin` says in the description where they are from. Throws DataError.
SampleSet samplesFromArrays(StoredArray inputs, StoredArray targets, const DataConfig& config,
                            std::int64_t ignoreIndex, const std::string& origin);

} // namespace driftscope
