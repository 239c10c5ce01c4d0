// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "recording/TensorInfo.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace driftscope {

/// The values of a float16 or bfloat16 tensor as float32, which holds each of them exactly.
std::vector<float> widened(std::span<const std::byte> values, DType type);

/// Values of float16, bfloat16, float32 or float64 as float64, which holds each of them exactly.
std::vector<double> asDoubles(std::span<const std::byte> values, DType type);

/// The bits of a number rounded to float16 or bfloat16, to nearest, ties to even.
std::uint16_t narrowed(float value, DType type);

} // namespace driftscope
