// SPDX-License-Identifier: GPL-3.0-or-later
// Changes one thing in the text of a study and leaves all else as it stands: comments, order, spacing. Each function
// returns the new text, and throws StudyTextError where the text is no TOML.
#pragma once

#include "study/Setting.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// Sets a key of [section] to a value written in TOML; adds the key, and the section, where they are missing.
std::string withKey(std::string_view toml, std::string_view section, std::string_view key, std::string_view value);
std::string withoutKey(std::string_view toml, std::string_view section, std::string_view key);

/// Sets a setting, and removes what excludes it: steps and epochs hold one at a time.
std::string withSetting(std::string_view toml, const SettingSpec& spec, const SettingValue& value);

/// Adds values to an axis of [axes] or [full], which is made where it is missing.
std::string withAxisValues(std::string_view toml, std::string_view section, const SettingSpec& spec,
                           const std::vector<SettingValue>& values);
/// Without its last value the axis is gone. A reference that named the value is its axis's first then.
std::string withoutAxisValue(std::string_view toml, std::string_view section, const SettingSpec& spec,
                             std::size_t index);
/// Removed from the reference and the groups too.
std::string withoutAxis(std::string_view toml, std::string_view section, const SettingSpec& spec);

/// The value of one axis in the reference.
std::string withReference(std::string_view toml, const SettingSpec& spec, const SettingValue& value);

/// Whether each value of the axis has a reference of its own.
std::string withGroup(std::string_view toml, const SettingSpec& spec, bool isGroup);

/// Paths that are relative to one folder, absolute: for a text that moves to another.
std::string withAbsolutePaths(std::string_view toml, const std::filesystem::path& folder);

} // namespace driftscope
