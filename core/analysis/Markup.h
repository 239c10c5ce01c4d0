// SPDX-License-Identifier: GPL-3.0-or-later
// Text of others inside pages and pictures.
#pragma once

#include <string>
#include <string_view>

namespace driftscope {

/// For HTML, SVG and XML, in elements and in quoted attributes: & < > " ' as entities; bytes that are no UTF-8, and
/// characters that XML does not have, as U+FFFD.
std::string escaped(std::string_view text);

} // namespace driftscope
