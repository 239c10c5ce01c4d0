// SPDX-License-Identifier: GPL-3.0-or-later
// Several values of a setting as a user types them at once.
#pragma once

#include "study/Setting.h"

#include <string_view>
#include <vector>

namespace driftscope {

/// "1, 2, 4", a range "1..8", a range in equal steps "0..100 by 25", or one in factors "1..16 x2"; each value as parseValue reads it.
/// Throws StudyError.
std::vector<SettingValue> parseValues(const SettingSpec& spec, std::string_view text);

} // namespace driftscope
