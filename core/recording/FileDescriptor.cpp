// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/FileDescriptor.h"

#include "recording/RunFile.h"
#include "study/ByteText.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace driftscope {
namespace {

[[noreturn]] void fail(const std::filesystem::path& file, std::string_view what, int error) {
    throw RecordingError(fmt::format("{}: {}: {}", file.string(), what, std::strerror(error)));
}

std::uint64_t freeBytes(const std::filesystem::path& file) {
    std::error_code ignored;
    return std::filesystem::space(file.parent_path().empty() ? "." : file.parent_path(), ignored).available;
}

[[noreturn]] void failForSpace(const std::filesystem::path& file, std::uint64_t bytes) {
    throw RecordingError(fmt::format("{}: not enough disk space: the run needs {}, {} are free; record "
                                     "fewer steps ([record] every) or choose another folder",
                                     file.string(), byteText(static_cast<double>(bytes)),
                                     byteText(static_cast<double>(freeBytes(file)))));
}

/// An open-file-description lock on the first byte: unlike flock, HDF5's own locking does not meet it.
struct flock firstByte() {
    struct flock region {};
    region.l_type = F_WRLCK;
    region.l_whence = SEEK_SET;
    region.l_len = 1;
    return region;
}

} // namespace

FileDescriptor::FileDescriptor(const std::filesystem::path& file, int flags)
    : m_fd(::open(file.c_str(), flags | O_CLOEXEC, 0666)), m_file(file) {
    if (m_fd < 0)
        fail(file, "cannot be opened", errno);
}

FileDescriptor::~FileDescriptor() {
    if (m_fd >= 0)
        ::close(m_fd);
}

std::uint64_t FileDescriptor::size() const {
    struct stat status {};
    if (::fstat(m_fd, &status) != 0)
        fail(m_file, "size unknown", errno);
    return static_cast<std::uint64_t>(status.st_size);
}

void FileDescriptor::writeAt(std::uint64_t offset, std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(m_fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            fail(m_file, "cannot be written", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void FileDescriptor::readAt(std::uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = ::pread(m_fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            fail(m_file, "cannot be read", n < 0 ? errno : ENODATA);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::uint64_t>(n);
    }
}

void FileDescriptor::reserve(std::uint64_t bytes) const {
    const int error = ::posix_fallocate(m_fd, 0, static_cast<off_t>(bytes));
    if (error == 0)
        return;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        failForSpace(m_file, bytes);
    fail(m_file, "cannot reserve its space", error);
}

void requireSpace(const std::filesystem::path& file, std::uint64_t bytes) {
    if (freeBytes(file) < bytes)
        failForSpace(file, bytes);
}

void FileDescriptor::markInUse() const {
    struct flock region = firstByte();
    ::fcntl(m_fd, F_OFD_SETLK, &region);
}

bool FileDescriptor::isInUse() const {
    struct flock region = firstByte();
    return ::fcntl(m_fd, F_OFD_GETLK, &region) == 0 && region.l_type != F_UNLCK;
}

} // namespace driftscope
