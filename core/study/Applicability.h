// SPDX-License-Identifier: GPL-3.0-or-later
// Which settings mean something beside which others: what a form shows.
#pragma once

#include "study/RunConfig.h"
#include "study/Setting.h"

#include <string>

namespace driftscope {

/// Why a setting has no place in a run like this, as validate() or whyUnused() say it, or "". Of settings that are
/// off by default, a value that turns them on is tried.
std::string whyInapplicable(const RunConfig& run, const SettingSpec& spec);

} // namespace driftscope
