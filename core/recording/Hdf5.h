// SPDX-License-Identifier: GPL-3.0-or-later
// HDF5's C handles as owned values; private to core.
#pragma once

#include "recording/RunFile.h"
#include "recording/TensorInfo.h"

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftscope::hdf5 {

/// HDF5 may be built without thread safety: whoever calls it holds this lock.
std::unique_lock<std::recursive_mutex> lock();

/// Owns an HDF5 identifier and closes it with the function of its kind.
class Handle {
public:
    Handle() = default;
    Handle(hid_t id, herr_t (*close)(hid_t)) : m_id(id), m_close(close) {}
    Handle(Handle&& other) noexcept : m_id(std::exchange(other.m_id, -1)), m_close(other.m_close) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(m_id, other.m_id);
        std::swap(m_close, other.m_close);
        return *this;
    }
    ~Handle() { reset(); }

    void reset();
    [[nodiscard]] hid_t id() const { return m_id; }
    explicit operator bool() const { return m_id >= 0; }

private:
    hid_t m_id = -1;
    herr_t (*m_close)(hid_t) = nullptr;
};

/// Throws RecordingError "what: HDF5's own innermost message" if the call failed.
Handle checked(hid_t id, herr_t (*close)(hid_t), std::string_view what);
void checked(herr_t status, std::string_view what);

/// Opens a file read-only without HDF5's file locks, which would fail on a run in progress.
Handle openReadOnly(const std::filesystem::path& file);

/// True if there is an object of that path that every link on the way leads to inside this file.
bool hasLocal(hid_t file, const std::string& path);

void writeAttribute(hid_t object, const char* name, std::string_view text);
void writeAttribute(hid_t object, const char* name, std::int64_t number);
void writeAttribute(hid_t object, const char* name, std::span<const std::uint64_t> numbers);

/// Empty where there is none or it holds no integers.
std::vector<std::uint64_t> readNumbersAttribute(hid_t object, const char* name);

/// Float16 and BFloat16 are described by their bits. The caller closes it.
Handle fileType(DType type);
/// The type that a dataset of this type, of either byte order, is read as; none for types that aren't known.
std::optional<DType> dtypeOf(hid_t type);
/// Borrowed from HDF5 or from this library.
hid_t memoryType(DType type);

/// "" where there is none or it is no string.
std::string readTextAttribute(hid_t object, const char* name);

/// A scalar string dataset, fixed or variable length; "" where there is none.
std::string readText(hid_t file, const std::string& path);
void writeText(hid_t file, const char* path, std::string_view text);

/// All elements of a dataset converted to the native type of T; shape given back if asked for.
template <class T>
std::vector<T> readAll(hid_t file, const std::string& path, std::vector<hsize_t>* shape = nullptr);

std::vector<hsize_t> shapeOf(hid_t dataset);

/// Creates a group, and those above it, that remembers the order in which its members were made.
Handle createGroup(hid_t file, const std::string& path);

/// Names of a group's members, in the order they were made where the group tracks it, else by name;
/// soft and external links are left out.
std::vector<std::string> childrenOf(hid_t file, const std::string& group);


} // namespace driftscope::hdf5
