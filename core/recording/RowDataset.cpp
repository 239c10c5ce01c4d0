// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RowDataset.h"

#include "recording/RunFile.h"

#include <fmt/format.h>

#include <sys/mman.h>

namespace driftscope {

using hdf5::Handle;

Mapping::Mapping(const FileDescriptor& file) : m_size(file.size()) {
    if (m_size == 0)
        return;
    void* address = ::mmap(nullptr, m_size, PROT_READ, MAP_SHARED, file.fd(), 0);
    m_address = address == MAP_FAILED ? nullptr : static_cast<const std::byte*>(address);
}

Mapping::~Mapping() {
    if (m_address)
        ::munmap(const_cast<std::byte*>(m_address), m_size);
}

std::vector<std::byte> RowDataset::read(std::uint64_t row) const {
    if (mapped) {
        const auto bytes = mapped->subspan(row * rowBytes, rowBytes);
        return {bytes.begin(), bytes.end()};
    }
    const auto held = hdf5::lock();
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    const std::vector<hsize_t> shape = hdf5::shapeOf(dataset.id());
    std::vector<hsize_t> start(shape.size(), 0);
    std::vector<hsize_t> count(shape);
    start[0] = row;
    count[0] = 1;
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
    std::vector<std::byte> bytes;
    try {
        bytes.resize(rowBytes);
    } catch (const std::exception&) {
        throw RecordingError(fmt::format("{}: a row of {} bytes does not fit into memory", name, rowBytes));
    }
    hdf5::checked(H5Dread(dataset.id(), memoryType, memory.id(), space.id(), H5P_DEFAULT, bytes.data()), name);
    return bytes;
}

std::optional<RowDataset> openRows(hid_t file, const Mapping& mapping, const std::filesystem::path& path,
                                   const std::string& name, hid_t memoryType) {
    const auto fail = [&](const std::string& what) {
        throw RecordingError(fmt::format("{}: {}", path.string(), what));
    };
    if (!hdf5::hasLocal(file, name))
        return std::nullopt;
    RowDataset result;
    result.dataset = Handle(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!result.dataset)
        return std::nullopt;
    const std::vector<hsize_t> shape = hdf5::shapeOf(result.dataset.id());
    if (shape.empty())
        fail(fmt::format("{} is not a dataset with a row per recorded step", name));
    result.name = fmt::format("{}: {}", path.string(), name);
    result.memoryType = memoryType;
    result.rows = shape[0];
    result.rowBytes = H5Tget_size(memoryType);
    for (std::size_t i = 1; i < shape.size(); ++i) {
        if (shape[i] != 0 && result.rowBytes > (std::uint64_t{1} << 46) / shape[i])
            fail(fmt::format("{} is implausibly large", name));
        result.rowBytes *= shape[i];
    }
    if (result.rows != 0 && result.rowBytes > (std::uint64_t{1} << 50) / result.rows)
        fail(fmt::format("{} is implausibly large", name));

    const Handle properties(H5Dget_create_plist(result.dataset.id()), H5Pclose);
    const H5D_layout_t layout = H5Pget_layout(properties.id());
    if (layout == H5D_VIRTUAL || (layout == H5D_CONTIGUOUS && H5Pget_external_count(properties.id()) > 0))
        fail(fmt::format("{} keeps its values in another file, which is not followed", name));
    const Handle type(H5Dget_type(result.dataset.id()), H5Tclose);
    if (H5Tget_class(type.id()) != H5Tget_class(memoryType))
        fail(fmt::format("{}: expected {}", name,
                         H5Tget_class(memoryType) == H5T_INTEGER ? "integers" : "floating-point numbers"));
    const haddr_t offset = H5Dget_offset(result.dataset.id());
    const std::uint64_t bytes = result.rows * result.rowBytes;
    if (layout != H5D_CONTIGUOUS || offset == HADDR_UNDEF || H5Tequal(type.id(), memoryType) <= 0)
        return result;
    const std::span<const std::byte> whole = mapping.bytes();
    if (offset > whole.size() || bytes > whole.size() - offset)
        fail(fmt::format("{} ends behind the end of the file: the file is cut off", name));
    result.mapped = whole.subspan(offset, bytes);
    return result;
}

} // namespace driftscope
