// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/Version.h"

namespace driftscope {

std::string_view generatorName() { return "Driftscope " DRIFTSCOPE_VERSION; }

} // namespace driftscope
