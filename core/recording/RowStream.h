// SPDX-License-Identifier: GPL-3.0-or-later
// A run's weights, row after row, through a pipe from the process that trains it to one that compares with it.
#pragma once

#include "recording/RunReader.h"
#include "recording/RunWriter.h"

#include <cstdint>
#include <span>
#include <vector>

namespace driftscope {

/// Writes the weights of a step: its number, then the bytes of each tensor. Throws RecordingError where nobody
/// reads.
void writeStreamedRow(int fd, std::int64_t step, std::span<const TensorValues> weights);

/// Reads the next row, which must be that step's, of tensors like these. Throws RecordingError if the
/// stream ends before, which is what a process that died leaves.
std::vector<TensorRow> readStreamedRow(int fd, std::int64_t step, std::span<const TensorInfo> tensors);

} // namespace driftscope
