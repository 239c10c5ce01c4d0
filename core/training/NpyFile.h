// SPDX-License-Identifier: GPL-3.0-or-later
// NumPy's arrays: one .npz with inputs and targets, or an .npy of each.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include "training/SampleSet.h"

namespace driftscope {

/// Versions 1 to 3 of the header, either byte order, C order; what samplesFromArrays takes. Throws DataError.
SampleSet loadNpy(const DataConfig& config, std::int64_t ignoreIndex);

} // namespace driftscope
