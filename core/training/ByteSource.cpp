// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/ByteSource.h"

#include "study/DataFiles.h"

#include <fmt/format.h>

namespace driftscope {

FileSource::FileSource(const std::filesystem::path& path) : m_path(path), m_in(path, std::ios::binary) {
    std::error_code error;
    m_left = std::filesystem::file_size(path, error);
    if (!m_in || error)
        throw DataError(fmt::format("{}: cannot be read", path.string()));
}

void FileSource::restrict(std::uint64_t offset, std::uint64_t count) {
    m_in.seekg(static_cast<std::streamoff>(offset));
    m_left = count;
}

void FileSource::read(std::span<std::uint8_t> out) {
    m_in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size()));
    const auto got = static_cast<std::uint64_t>(m_in.gcount());
    if (got != out.size())
        failTooShort(m_path.string(), out.size() - got);
    m_left -= got;
}

void failTooShort(const std::string& name, std::uint64_t expected) {
    throw DataError(fmt::format("{}: ends too early or is damaged: expected {} more bytes", name, expected));
}

} // namespace driftscope
