// SPDX-License-Identifier: GPL-3.0-or-later
// How a run stands to its reference, as far as its recording alone can say.
#pragma once

#include "analysis/StudyResults.h"

namespace driftscope {

/// "identical" where every common row has equal bits; "run-to-run" where they differ although no
/// setting does; else "inconclusive" with what is known; "" where there is nothing to judge: the reference itself, or no common rows.
Verdict judgeRun(const StudyResults& results, std::size_t run);

/// "step 1, phase gradient, tensor conv1.weight"
std::string toText(const FirstDivergence& first);

} // namespace driftscope
