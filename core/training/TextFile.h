// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of a text file as sequences of bytes, to predict the next byte of.
#pragma once

#include "training/SampleSet.h"

namespace driftscope {

/// A sample per line of two bytes or more, without its end (LF or CRLF): inputs are all bytes but the last, targets
/// all but the first, each cut at `context` or padded to it with token 0 and target `ignoreIndex`. 256 classes.
/// Throws DataError.
SampleSet loadText(const DataConfig& config, std::int64_t ignoreIndex);

} // namespace driftscope
