// SPDX-License-Identifier: GPL-3.0-or-later
// Remedies in the words of PyTorch.
#pragma once

#include "execution/Remedies.h"

#include <span>
#include <string>

namespace driftscope {

/// Lines for one remedy, after `import torch`; a comment where there is nothing to call. Needs the remedy's settings.
std::string pythonFor(const Remedy& remedy);

/// All of them as one piece that Python runs: environment first, then `import torch`, then each remedy's own lines
/// under its name. "" without remedies.
std::string pythonFor(std::span<const Remedy> remedies);

} // namespace driftscope
