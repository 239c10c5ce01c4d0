// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/ByteText.h"

#include <fmt/format.h>

namespace driftscope {

std::string byteText(double bytes) {
    for (const char* unit : {"B", "kB", "MB", "GB"}) {
        if (bytes < 999.5) // three digits of more would read "1e+03"
            return fmt::format("{:.3g} {}", bytes, unit);
        bytes /= 1000;
    }
    return bytes < 999.5 ? fmt::format("{:.3g} TB", bytes) : fmt::format("{:.0f} TB", bytes);
}

} // namespace driftscope
