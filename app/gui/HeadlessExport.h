// SPDX-License-Identifier: GPL-3.0-or-later
// driftscope --export: a view as a file, without a window and without a display.
#pragma once

#include "Options.h"

namespace driftscope {

/// The exit code: 0, or 2 with a message on stderr and no file written.
int exportHeadless(const Options& options, int argc, char** argv);

} // namespace driftscope
