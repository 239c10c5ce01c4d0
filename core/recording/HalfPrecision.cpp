// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/HalfPrecision.h"

#include <bit>
#include <cmath>
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

std::uint16_t toFloat16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000U) // NaN
        half = 0x7E00U;
    else if (magnitude >= 0x477FF000U) // 65520 and above round to infinity
        half = 0x7C00U;
    else if (magnitude < 0x38800000U) // below 2^-14: a multiple of 2^-24
        half = static_cast<std::uint32_t>(std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24F));
    else
        half = ((magnitude + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13) - (112U << 10);
    return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t toBFloat16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFU) > 0x7F800000U) // NaN
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace

std::vector<double> asDoubles(std::span<const std::byte> values, DType type) {
    if (type == DType::Float16 || type == DType::BFloat16) {
        const std::vector<float> wide = widened(values, type);
        return {wide.begin(), wide.end()};
    }
    const auto convert = [&]<class T>(T value) {
        std::vector<double> result(values.size() / sizeof(T));
        for (std::size_t i = 0; i < result.size(); ++i) {
            std::memcpy(&value, values.data() + i * sizeof(T), sizeof(T));
            result[i] = static_cast<double>(value);
        }
        return result;
    };
    return type == DType::Float64 ? convert(double{}) : convert(float{});
}

std::uint16_t narrowed(float value, DType type) {
    return type == DType::Float16 ? toFloat16(value) : toBFloat16(value);
}

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
