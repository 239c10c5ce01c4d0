// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace driftscope {

/// "Driftscope 0.1.0", as files name their generator.
std::string_view generatorName();

} // namespace driftscope
