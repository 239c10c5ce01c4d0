// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>

namespace driftscope {

/// Replaces each of the values, finite and positive, by its natural logarithm, to 4 ULP.
void takeLogarithms(std::span<double> values);

} // namespace driftscope
