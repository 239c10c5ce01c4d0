// SPDX-License-Identifier: GPL-3.0-or-later
// How HDF5 describes the types that are recorded.
#include "recording/Hdf5.h"

namespace driftscope::hdf5 {
namespace {

/// A 16-bit floating type, little-endian: sign bit, exponent, mantissa from the top down, no implicit surprises.
hid_t sixteenBits(std::size_t exponentBits, std::size_t mantissaBits, std::size_t bias) {
    const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(type, 15, mantissaBits, exponentBits, 0, mantissaBits);
    H5Tset_precision(type, 16);
    H5Tset_ebias(type, bias);
    H5Tset_size(type, 2);
    return type;
}

hid_t float16() {
    static const hid_t type = sixteenBits(5, 10, 15);
    return type;
}
hid_t bfloat16() {
    static const hid_t type = sixteenBits(8, 7, 127);
    return type;
}

} // namespace

hid_t memoryType(DType type) {
    switch (type) {
    case DType::Float32: return H5T_NATIVE_FLOAT;
    case DType::Float64: return H5T_NATIVE_DOUBLE;
    case DType::Float16: return float16();
    case DType::BFloat16: return bfloat16();
    case DType::UInt8: return H5T_NATIVE_UINT8;
    case DType::UInt64: return H5T_NATIVE_UINT64;
    }
    return -1;
}

Handle fileType(DType type) {
    switch (type) {
    case DType::Float32: return {H5Tcopy(H5T_IEEE_F32LE), H5Tclose};
    case DType::Float64: return {H5Tcopy(H5T_IEEE_F64LE), H5Tclose};
    case DType::Float16: return {H5Tcopy(float16()), H5Tclose};
    case DType::BFloat16: return {H5Tcopy(bfloat16()), H5Tclose};
    case DType::UInt8: return {H5Tcopy(H5T_STD_U8LE), H5Tclose};
    case DType::UInt64: return {H5Tcopy(H5T_STD_U64LE), H5Tclose};
    }
    return {};
}

std::optional<DType> dtypeOf(hid_t type) {
    // not by H5Tget_native_type, to which a 16-bit number is a float32 too
    for (const hid_t known : {H5T_IEEE_F32LE, H5T_IEEE_F32BE})
        if (H5Tequal(type, known) > 0)
            return DType::Float32;
    for (const hid_t known : {H5T_IEEE_F64LE, H5T_IEEE_F64BE})
        if (H5Tequal(type, known) > 0)
            return DType::Float64;
    for (const auto& [known, dtype] : {std::pair(float16(), DType::Float16), std::pair(bfloat16(), DType::BFloat16)}) {
        if (H5Tequal(type, known) > 0)
            return dtype;
        const Handle bigEndian(H5Tcopy(known), H5Tclose);
        H5Tset_order(bigEndian.id(), H5T_ORDER_BE);
        if (H5Tequal(type, bigEndian.id()) > 0)
            return dtype;
    }
    return std::nullopt;
}

} // namespace driftscope::hdf5
