// SPDX-License-Identifier: GPL-3.0-or-later
// Members of a zip archive, stored or deflated, read from their beginning.
#pragma once

#include "training/ByteSource.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace driftscope {

class ZipFile {
public:
    /// Throws DataError if the file is no zip archive.
    explicit ZipFile(const std::filesystem::path& path);
    /// Every member's name in the archive's order; a hostile archive may name one twice.
    [[nodiscard]] std::vector<std::string> members() const;
    /// The member at that place in members(); it may outlive the ZipFile. Its checksum is verified when its last
    /// byte is read. Throws DataError if it is compressed otherwise, encrypted, or has a size that cannot be.
    [[nodiscard]] std::unique_ptr<ByteSource> open(std::size_t member) const;

private:
    std::filesystem::path m_path;
    std::shared_ptr<zip> m_zip;
};

} // namespace driftscope
