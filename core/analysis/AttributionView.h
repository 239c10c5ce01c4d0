// SPDX-License-Identifier: GPL-3.0-or-later
// An attribution as a heatmap: settings × layers, and in words.
#pragma once

#include "analysis/Attribution.h"
#include "analysis/ViewData.h"

namespace driftscope {

/// A row per axis, in their order; columns are the model and its layers; a cell is the median relative L2 distance of the
/// pairs that differ in that axis alone.
HeatmapView makeAttributionView(const StudyResults& results, const Attribution& attribution);

/// A sentence for each axis, and for each interaction.
std::vector<std::string> attributionSentences(const Attribution& attribution);

} // namespace driftscope
