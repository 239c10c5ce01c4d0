// SPDX-License-Identifier: GPL-3.0-or-later
// Decides between rounding and everything that is taken for it. The rule above all others: never to say rounding of
// another function; where evidence conflicts or is missing, the verdict is inconclusive and says what would settle it.
#pragma once

#include "analysis/RecordedEvidence.h"
#include "analysis/RunComparison.h"
#include "analysis/Verdict.h"
#include "study/RunConfig.h"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace driftscope {

struct StudyResults;

/// What a pair of runs has in common and how it differs, gathered from their recordings and those of their twins.
struct PairFacts {
    const RunComparison* comparison = nullptr;    ///< of the run with its reference
    const RecordedEvidence* recorded = nullptr;   ///< of the same two, or none
    const RunComparison* twins = nullptr;         ///< of their float64 twins, or none
    const RecordedEvidence* recordedTwins = nullptr;
    const RunConfig* run = nullptr;               ///< settings, or none: a file of others
    const RunConfig* reference = nullptr;
    bool isFinished = true;
    double epsilon = 0x1p-23;                     ///< machine epsilon of the weights' type
    std::size_t repeats = 0;                      ///< runs with the same settings as one of the two
    bool doRepeatsDiffer = false;                 ///< one of them has other bits
    /// Median relative distance of the weights of runs that differ in nothing but the seed; NaN: not known.
    double seedSpread = std::numeric_limits<double>::quiet_NaN();
};

/// The verdict on facts alone.
Verdict judge(const PairFacts& facts);

/// Gathers the facts of a run of a study and judges them.
Verdict judgeRun(const StudyResults& results, std::size_t run);

/// The same for two files by themselves. Twins are taken from beside them, where a study's runs have them.
Verdict judgeFiles(const RunReader& run, const RunReader& reference, const RunComparison& comparison);

} // namespace driftscope
