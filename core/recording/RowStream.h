// SPDX-License-Identifier: GPL-3.0-or-later
// A run's weights, row after row, through a pipe from the process that trains it to one that compares with it.
#pragma once

#include "recording/RunReader.h"
#include "recording/RunWriter.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace driftscope {

/// Writes the weights of a step: its number, then the bytes of each tensor. Throws RecordingError where nobody
/// reads.
void writeStreamedRow(int fd, std::int64_t step, std::span<const TensorValues> weights);

class RowStreamReader {
public:
    /// Borrows the descriptor. tensors and steps: those of the run that is streamed.
    RowStreamReader(int fd, std::span<const TensorInfo> tensors, std::span<const std::int64_t> steps)
        : m_fd(fd), m_tensors(tensors.begin(), tensors.end()), m_steps(steps.begin(), steps.end()) {}

    /// The weights of a step; rows before it are skipped. None if the streamed run does not record that step.
    /// Steps are asked for in rising order. Throws RecordingError if the stream ends before, which is what a
    /// process that died leaves.
    std::optional<std::vector<TensorRow>> read(std::int64_t step);

private:
    std::vector<TensorRow> readRow(std::int64_t step);

    int m_fd;
    std::vector<TensorInfo> m_tensors;
    std::vector<std::int64_t> m_steps;
    std::size_t m_next = 0; ///< position in m_steps of the row that comes next
};

} // namespace driftscope
