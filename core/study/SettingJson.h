// SPDX-License-Identifier: GPL-3.0-or-later
// Settings as JSON values; private to core (public headers expose std types only).
#pragma once

#include "study/Setting.h"

#include <nlohmann/json.hpp>

namespace driftscope {

/// Keeps keys in the order they were written: that of sections and axes means something to readers.
using Json = nlohmann::ordered_json;

/// null where not set.
Json valueToJson(const SettingValue& value);

/// Throws StudyError if the type or the value is not the setting's.
SettingValue valueFromJson(const SettingSpec& spec, const Json& value);

/// {"accumulation": 2, …} in the order of the axes.
Json settingsToJson(std::span<const Assignment> settings);

} // namespace driftscope
