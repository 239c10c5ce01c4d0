// SPDX-License-Identifier: GPL-3.0-or-later
// How many ULP apart the elements are, over time: the histogram of every step beside that of the next.
#pragma once

#include "analysis/ViewData.h"

#include <stop_token>

namespace driftscope {

struct UlpChoice {
    std::size_t run = 0;
    Scope scope{};                 ///< the model's come from the comparison, others are read from the files
    std::size_t mostColumns = 200; ///< more steps than that are thinned evenly, the last one kept
};

/// Columns are steps, rows the bins from the farthest in use down to 0 (equal values); a cell is the share of elements.
/// Throws RecordingError where values of a scope have to be read and can't be.
HeatmapView makeUlpHeatmap(const StudyResults& results, const UlpChoice& choice, std::stop_token stop = {});

} // namespace driftscope
