// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/HalfPrecision.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace driftscope {
namespace {

/// IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 mantissa bits.
float fromFloat16(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1FU;
    const std::uint32_t mantissa = half & 0x3FFU;
    if (exponent == 0x1F) // infinities and NaN
        return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    if (exponent == 0) { // zeros and subnormal numbers: mantissa · 2^-24
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

} // namespace

std::vector<float> widened(std::span<const std::byte> values, DType type) {
    std::vector<float> wide(values.size() / sizeof(std::uint16_t));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        std::uint16_t half = 0;
        std::memcpy(&half, values.data() + i * sizeof half, sizeof half);
        wide[i] = type == DType::Float16 ? fromFloat16(half)
                                         : std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
    }
    return wide;
}

} // namespace driftscope
