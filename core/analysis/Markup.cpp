// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Markup.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace driftscope {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Length in bytes of the character that the text begins with, or 0 if that is no UTF-8 (RFC 3629) or no character of
/// XML 1.0.
std::size_t characterSize(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
    const std::uint32_t first = byte(0);
    if (first < 0x80)
        return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
    const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < size)
        return 0;
    std::uint32_t code = first & (0x7FU >> size);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0U) != 0x80)
            return 0;
        code = code << 6U | (byte(i) & 0x3FU);
    }
    static constexpr std::array<std::uint32_t, 5> smallest{0, 0, 0x80, 0x800, 0x10000};
    const bool isSurrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < smallest[size] || isSurrogate || code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF)
        return 0;
    return size;
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t size = characterSize(text.substr(i));
        switch (text[i]) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += size > 0 ? text.substr(i, size) : replacement;
        }
        i += size > 0 ? size : 1;
    }
    return out;
}

} // namespace driftscope
