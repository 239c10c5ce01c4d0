// SPDX-License-Identifier: GPL-3.0-or-later
// Inputs and targets from one safetensors file: https://huggingface.co/docs/safetensors
#pragma once

#include "training/SampleSet.h"

namespace driftscope {

/// Two of the file's tensors, see findArrays, of dtype F32, F64, F16, BF16, U8, I64 or I32; what
/// samplesFromArrays takes. Throws DataError.
SampleSet loadSafetensors(const DataConfig& config, std::int64_t ignoreIndex);

} // namespace driftscope
