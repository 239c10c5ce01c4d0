// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "recording/TensorInfo.h"

#include <cstddef>
#include <span>

namespace driftscope {

/// Σ x² in float64 over the elements of a tensor, in one fixed order whatever the machine, so that
/// equal bytes give equal sums.
double sumOfSquares(std::span<const std::byte> tensor, DType type);

} // namespace driftscope
