// SPDX-License-Identifier: GPL-3.0-or-later
// XXH3-128 of bytes: equal digests mean bit-identical.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace driftscope {

/// {high 64 bits, low 64 bits}. All zero: nothing was there to digest (a gradient before step 1).
using Digest = std::array<std::uint64_t, 2>;

Digest digestOf(std::span<const std::byte> bytes);

} // namespace driftscope
