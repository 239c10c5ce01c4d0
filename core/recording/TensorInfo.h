// SPDX-License-Identifier: GPL-3.0-or-later
// What a recorded tensor is: name, layer, type and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// Types of recorded values; the integers are for what is recorded beside tensors.
enum class DType { Float32, Float64, Float16, BFloat16, UInt8, UInt64 };

constexpr std::size_t sizeBytes(DType type) {
    switch (type) {
    case DType::UInt8: return 1;
    case DType::Float16:
    case DType::BFloat16: return 2;
    case DType::Float32: return 4;
    case DType::Float64:
    case DType::UInt64: return 8;
    }
    return 0;
}
constexpr std::string_view nameOf(DType type) {
    switch (type) {
    case DType::Float32: return "float32";
    case DType::Float64: return "float64";
    case DType::Float16: return "float16";
    case DType::BFloat16: return "bfloat16";
    case DType::UInt8: return "uint8";
    case DType::UInt64: return "uint64";
    }
    return "unknown";
}

/// Distance from 1 to the next number of a floating-point type.
constexpr double epsilonOf(DType type) {
    switch (type) {
    case DType::Float64: return 0x1p-52;
    case DType::Float16: return 0x1p-10;
    case DType::BFloat16: return 0x1p-7;
    default: return 0x1p-23;
    }
}

struct TensorInfo {
    std::string name; ///< as in PyTorch's state_dict: "fc1.weight"
    DType dtype = DType::Float32;
    std::vector<std::uint64_t> shape; ///< empty: a scalar

    bool operator==(const TensorInfo&) const = default;

    [[nodiscard]] std::uint64_t elements() const {
        std::uint64_t count = 1;
        for (const std::uint64_t extent : shape)
            count *= extent;
        return count;
    }
    [[nodiscard]] std::uint64_t bytes() const { return elements() * sizeBytes(dtype); }
};

/// The module that owns the parameter: "fc1" for "fc1.weight", "" for a parameter of the model itself.
inline std::string_view layerOf(std::string_view tensor) {
    const std::size_t dot = tensor.rfind('.');
    return dot == std::string_view::npos ? std::string_view{} : tensor.substr(0, dot);
}

/// "weight" for "fc1.weight".
inline std::string_view kindOf(std::string_view tensor) { return tensor.substr(tensor.rfind('.') + 1); }

} // namespace driftscope
