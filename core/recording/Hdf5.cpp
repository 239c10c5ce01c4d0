// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace driftscope::hdf5 {

std::unique_lock<std::recursive_mutex> lock() {
    static std::recursive_mutex mutex;
    std::unique_lock held(mutex);
    // HDF5 1.10.8 crashes in its exit handler over a file that a full disk kept it from closing.
    [[maybe_unused]] static const herr_t noExitHandler = H5dont_atexit();
    // The automatic printing is a setting of the calling thread in a thread-safe HDF5.
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return held;
}

void Handle::reset() {
    if (m_id >= 0 && m_close)
        m_close(m_id);
    m_id = -1;
}

namespace {

/// HDF5 stacks its errors; the first, innermost one says what happened.
std::string innermostError() {
    std::string text;
    H5Ewalk2(
        H5E_DEFAULT, H5E_WALK_UPWARD,
        [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
            if (n == 0 && error->desc)
                *static_cast<std::string*>(out) = error->desc;
            return 0;
        },
        &text);
    // It may quote bytes of a damaged file, and go on over several lines.
    text.erase(std::min(text.find('\n'), text.size()));
    std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
    return text.empty() ? "HDF5 error" : text;
}

[[noreturn]] void fail(std::string_view what) {
    throw RecordingError(fmt::format("{}: {}", what, innermostError()));
}

} // namespace

Handle checked(hid_t id, herr_t (*close)(hid_t), std::string_view what) {
    if (id < 0)
        fail(what);
    return {id, close};
}

void checked(herr_t status, std::string_view what) {
    if (status < 0)
        fail(what);
}

Handle openReadOnly(const std::filesystem::path& file) {
    if (!std::filesystem::is_regular_file(file))
        throw RecordingError(fmt::format("{}: no such file", file.string()));
    const htri_t isHdf5 = H5Fis_hdf5(file.c_str());
    if (isHdf5 == 0)
        throw RecordingError(fmt::format("{}: not an HDF5 file", file.string()));
    return checked(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose,
                   fmt::format("{}: cannot be opened", file.string()));
}

bool hasLocal(hid_t file, const std::string& path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (H5Lexists(file, part.c_str(), H5P_DEFAULT) <= 0)
            return false;
        H5L_info_t info;
        if (H5Lget_info(file, part.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
            return false;
        if (end == std::string::npos)
            return true;
    }
}

namespace {

Handle fixedString(std::size_t size) {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.id(), std::max<std::size_t>(size, 1));
    H5Tset_cset(type.id(), H5T_CSET_UTF8);
    H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
    return type;
}

/// Reads a scalar string through `read(memoryType, buffer)`, which is H5Dread or H5Aread.
template <class Read>
std::string readString(hid_t type, Read read) {
    if (H5Tget_class(type) != H5T_STRING)
        return "";
    if (H5Tis_variable_str(type) > 0) {
        char* text = nullptr;
        const Handle memory(H5Tcopy(type), H5Tclose);
        if (read(memory.id(), static_cast<void*>(&text)) < 0 || !text)
            return "";
        std::string result(text);
        H5free_memory(text);
        return result;
    }
    const std::size_t size = H5Tget_size(type);
    if (size > (std::size_t{1} << 26)) // no honest metadata is larger than 64 MiB
        return "";
    std::string result(size, '\0');
    if (read(type, static_cast<void*>(result.data())) < 0)
        return "";
    result.resize(std::min(result.size(), result.find('\0')));
    return result;
}

bool isSingle(hid_t space) { return H5Sget_simple_extent_npoints(space) == 1; }

/// False if a dataset keeps its values in another file, which is not followed.
bool isSelfContained(hid_t dataset) {
    const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
    return H5Pget_layout(properties.id()) != H5D_VIRTUAL && H5Pget_external_count(properties.id()) <= 0;
}

} // namespace

void writeAttribute(hid_t object, const char* name, std::string_view text) {
    const Handle type = fixedString(text.size());
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute = checked(
        H5Acreate2(object, name, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    std::string padded(std::max<std::size_t>(text.size(), 1), '\0');
    text.copy(padded.data(), text.size());
    checked(H5Awrite(attribute.id(), type.id(), padded.data()), name);
}

void writeAttribute(hid_t object, const char* name, std::int64_t number) {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute = checked(
        H5Acreate2(object, name, H5T_STD_I64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    checked(H5Awrite(attribute.id(), H5T_NATIVE_INT64, &number), name);
}

void writeAttribute(hid_t object, const char* name, std::span<const std::uint64_t> numbers) {
    const hsize_t count = numbers.size();
    const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Handle attribute = checked(
        H5Acreate2(object, name, H5T_STD_U64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, name);
    if (count > 0)
        checked(H5Awrite(attribute.id(), H5T_NATIVE_UINT64, numbers.data()), name);
}

std::vector<std::uint64_t> readNumbersAttribute(hid_t object, const char* name) {
    constexpr hssize_t most = 64; // a tensor has no more dimensions
    if (H5Aexists(object, name) <= 0)
        return {};
    const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute.id()), H5Tclose);
    const Handle space(H5Aget_space(attribute.id()), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space.id());
    if (!attribute || H5Tget_class(type.id()) != H5T_INTEGER || count <= 0 || count > most)
        return {};
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count));
    checked(H5Aread(attribute.id(), H5T_NATIVE_UINT64, numbers.data()), name);
    return numbers;
}

std::string readTextAttribute(hid_t object, const char* name) {
    if (H5Aexists(object, name) <= 0)
        return "";
    const Handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
    const Handle type(H5Aget_type(attribute.id()), H5Tclose);
    const Handle space(H5Aget_space(attribute.id()), H5Sclose);
    if (!attribute || !type || !isSingle(space.id()))
        return "";
    return readString(type.id(),
                      [&](hid_t memory, void* out) { return H5Aread(attribute.id(), memory, out); });
}

std::string readText(hid_t file, const std::string& path) {
    if (!hasLocal(file, path))
        return "";
    const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset || !isSelfContained(dataset.id()))
        return "";
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const Handle space(H5Dget_space(dataset.id()), H5Sclose);
    if (!type || !isSingle(space.id()))
        return "";
    return readString(type.id(), [&](hid_t memory, void* out) {
        return H5Dread(dataset.id(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
    });
}

void writeText(hid_t file, const char* path, std::string_view text) {
    const Handle type = fixedString(text.size());
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle dataset =
        checked(H5Dcreate2(file, path, type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                H5Dclose, path);
    std::string padded(std::max<std::size_t>(text.size(), 1), '\0');
    text.copy(padded.data(), text.size());
    checked(H5Dwrite(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()), path);
}

std::vector<hsize_t> shapeOf(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = space ? H5Sget_simple_extent_ndims(space.id()) : -1;
    if (rank < 0)
        return {};
    std::vector<hsize_t> shape(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    return shape;
}

Handle createGroup(hid_t file, const std::string& path) {
    const Handle properties(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
    H5Pset_link_creation_order(properties.id(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.id(), 1);
    return checked(H5Gcreate2(file, path.c_str(), links.id(), properties.id(), H5P_DEFAULT), H5Gclose, path);
}

namespace {
template <class T> hid_t nativeType();
template <> hid_t nativeType<std::int64_t>() { return H5T_NATIVE_INT64; }
template <> hid_t nativeType<std::uint64_t>() { return H5T_NATIVE_UINT64; }
template <> hid_t nativeType<double>() { return H5T_NATIVE_DOUBLE; }
} // namespace

template <class T>
std::vector<T> readAll(hid_t file, const std::string& path, std::vector<hsize_t>* shape) {
    if (!hasLocal(file, path))
        return {};
    const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset || !isSelfContained(dataset.id()))
        return {};
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    const H5T_class_t kind = H5Tget_class(type.id());
    if (kind != H5T_INTEGER && kind != H5T_FLOAT)
        return {};
    const std::vector<hsize_t> extents = shapeOf(dataset.id());
    hsize_t count = 1;
    for (const hsize_t extent : extents)
        if (count > (hsize_t{1} << 32) / std::max<hsize_t>(extent, 1))
            throw RecordingError(fmt::format("{}: implausibly large", path));
        else
            count *= extent;
    // A few bytes can claim any size. Compression makes at most a thousandth of it.
    hsize_t fileBytes = 0;
    H5Fget_filesize(file, &fileBytes);
    if (count > (hsize_t{1} << 20) && count / 1024 > fileBytes)
        throw RecordingError(fmt::format("{}: implausibly large", path));
    std::vector<T> values;
    try {
        values.resize(count);
    } catch (const std::exception&) {
        throw RecordingError(fmt::format("{}: {} numbers do not fit into memory", path, count));
    }
    checked(H5Dread(dataset.id(), nativeType<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), path);
    if (shape)
        *shape = extents;
    return values;
}
template std::vector<std::int64_t> readAll(hid_t, const std::string&, std::vector<hsize_t>*);
template std::vector<std::uint64_t> readAll(hid_t, const std::string&, std::vector<hsize_t>*);
template std::vector<double> readAll(hid_t, const std::string&, std::vector<hsize_t>*);

std::vector<std::string> childrenOf(hid_t file, const std::string& group) {
    std::vector<std::string> names;
    if (!hasLocal(file, group))
        return names;
    const Handle opened(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose);
    if (!opened)
        return names;
    // H5L_info_t is another type from one HDF5 version to the next: ask each link apart, not in the callback
    const Handle created(H5Gget_create_plist(opened.id()), H5Pclose);
    unsigned order = 0;
    H5Pget_link_creation_order(created.id(), &order);
    H5Literate(
        opened.id(), (order & H5P_CRT_ORDER_TRACKED) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, nullptr,
        [](hid_t, const char* name, const H5L_info_t*, void* out) -> herr_t {
            static_cast<std::vector<std::string>*>(out)->emplace_back(name);
            return 0;
        },
        &names);
    std::erase_if(names, [&](const std::string& name) {
        H5L_info_t info;
        return H5Lget_info(opened.id(), name.c_str(), &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD;
    });
    return names;
}

} // namespace driftscope::hdf5
