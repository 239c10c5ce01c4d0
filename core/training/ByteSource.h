// SPDX-License-Identifier: GPL-3.0-or-later
// The bytes of a file, or of a member of a zip archive, one after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

namespace driftscope {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    /// Bytes that have not been read. A damaged file may hold fewer.
    [[nodiscard]] virtual std::uint64_t left() const = 0;
    /// Fills `out`, which has at most left() bytes. Throws DataError if the file ends before or is damaged.
    virtual void read(std::span<std::uint8_t> out) = 0;
};

/// A plain file. Throws DataError if it cannot be read.
class FileSource : public ByteSource {
public:
    explicit FileSource(const std::filesystem::path& path);
    /// Leaves only `count` bytes from `offset` on; the file must have them.
    void restrict(std::uint64_t offset, std::uint64_t count);
    [[nodiscard]] std::uint64_t left() const override { return m_left; }
    void read(std::span<std::uint8_t> out) override;

private:
    std::filesystem::path m_path;
    std::ifstream m_in;
    std::uint64_t m_left = 0;
};

/// Throws DataError: the file or member `name` has not the `expected` more bytes.
[[noreturn]] void failTooShort(const std::string& name, std::uint64_t expected);

} // namespace driftscope
