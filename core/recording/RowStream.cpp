// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RowStream.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace driftscope {
namespace {

void writeAll(int fd, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw RecordingError(fmt::format("the run that is compared reads no more: {}", std::strerror(errno)));
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

void readAll(int fd, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::read(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            throw RecordingError("the reference's replay ended before this run did; see its log");
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

} // namespace

void writeStreamedRow(int fd, std::int64_t step, std::span<const TensorValues> weights) {
    writeAll(fd, std::as_bytes(std::span(&step, 1)));
    for (const TensorValues& tensor : weights)
        writeAll(fd, tensor.arrived());
}

std::vector<TensorRow> readStreamedRow(int fd, std::int64_t step, std::span<const TensorInfo> tensors) {
    std::int64_t streamed = 0;
    readAll(fd, std::as_writable_bytes(std::span(&streamed, 1)));
    if (streamed != step)
        throw RecordingError(fmt::format("the reference's replay is at step {}, this run at {}", streamed, step));
    std::vector<TensorRow> rows;
    for (const TensorInfo& tensor : tensors) {
        std::vector<std::byte> values(tensor.bytes());
        readAll(fd, values);
        rows.emplace_back(tensor.dtype, std::move(values));
    }
    return rows;
}

} // namespace driftscope
