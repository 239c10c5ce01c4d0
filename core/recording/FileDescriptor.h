// SPDX-License-Identifier: GPL-3.0-or-later
// A POSIX file descriptor as an owned value, with whole reads and writes at an offset; private to core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

namespace driftscope {

class FileDescriptor {
public:
    FileDescriptor() = default;
    /// Throws RecordingError that names the file.
    FileDescriptor(const std::filesystem::path& file, int flags);
    FileDescriptor(FileDescriptor&& other) noexcept
        : m_fd(std::exchange(other.m_fd, -1)), m_file(std::move(other.m_file)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        std::swap(m_fd, other.m_fd);
        std::swap(m_file, other.m_file);
        return *this;
    }
    ~FileDescriptor();

    [[nodiscard]] int fd() const { return m_fd; }
    [[nodiscard]] std::uint64_t size() const;
    void writeAt(std::uint64_t offset, std::span<const std::byte> bytes) const;
    void readAt(std::uint64_t offset, std::span<std::byte> bytes) const;

    /// Reserves the whole file's space on the disk. Throws as requireSpace if there is too little.
    void reserve(std::uint64_t bytes) const;

    /// Marks the file as being written by this process, until it is closed; never waits.
    void markInUse() const;
    /// True if some process has the file marked.
    [[nodiscard]] bool isInUse() const;

private:
    int m_fd = -1;
    std::filesystem::path m_file;
};

/// Throws RecordingError that names both sizes if the folder's disk has fewer free bytes.
void requireSpace(const std::filesystem::path& file, std::uint64_t bytes);

} // namespace driftscope
