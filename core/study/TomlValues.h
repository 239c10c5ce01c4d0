// SPDX-License-Identifier: GPL-3.0-or-later
// Settings as TOML values; private to core (public headers expose std types only).
#pragma once

#include "study/Setting.h"

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace driftscope {

/// Throws StudyError if the type or the value is not the setting's.
SettingValue valueFromToml(const SettingSpec& spec, const toml::node& node);

/// The nodes that are the values of an axis: the elements of an array, or the node itself where it is one value,
/// also one that is a list.
std::vector<const toml::node*> axisNodes(const SettingSpec& spec, const toml::node& node);

} // namespace driftscope
