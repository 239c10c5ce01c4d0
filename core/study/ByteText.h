// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes as a person reads them.
#pragma once

#include <string>

namespace driftscope {

/// "512 B", "12 kB", "3.4 MB", "1.23 GB": three digits, powers of 1000.
std::string byteText(double bytes);

} // namespace driftscope
