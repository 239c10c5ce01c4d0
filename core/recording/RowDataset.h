// SPDX-License-Identifier: GPL-3.0-or-later
// Datasets with a row per recorded step, read where they lie in the mapped file, else through HDF5.
#pragma once

#include "recording/FileDescriptor.h"
#include "recording/Hdf5.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// A whole file, mapped read-only and shared: rows written later show up.
class Mapping {
public:
    explicit Mapping(const FileDescriptor& file);
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] std::span<const std::byte> bytes() const { return {m_address, m_address ? m_size : 0}; }

private:
    const std::byte* m_address = nullptr;
    std::uint64_t m_size = 0;
};

struct RowDataset {
    hdf5::Handle dataset;
    std::string name; ///< file and path in it
    hid_t memoryType = -1;
    std::uint64_t rows = 0;
    std::uint64_t rowBytes = 0;
    std::optional<std::span<const std::byte>> mapped; ///< where it lies in the file as memory wants it

    /// A copy of a row, at an address that suits any type. Throws RecordingError.
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t row) const;
};

/// None if there is no such dataset inside this file. HDF5's lock must be held. Throws RecordingError, which names
/// `path`, where it has no rows, another class of type, sizes that can't be, or values in another file.
std::optional<RowDataset> openRows(hid_t file, const Mapping& mapping, const std::filesystem::path& path,
                                   const std::string& name, hid_t memoryType);

} // namespace driftscope
