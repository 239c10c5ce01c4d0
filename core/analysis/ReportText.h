// SPDX-License-Identifier: GPL-3.0-or-later
// What a report says of a study, in words: the same on the terminal and on the page.
#pragma once

#include "analysis/Attribution.h"
#include "analysis/Growth.h"
#include "analysis/StudyResults.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// What the table of runs says of one.
struct ReportRow {
    std::size_t run = 0;  ///< position in StudyResults::runs
    std::string state;    ///< "finished", "not run", …
    std::string verdict;  ///< kind; "" where there is none
    bool isReference = false;
    /// The first difference, "none: bit-identical", or why there is nothing to compare.
    std::string first;
    std::optional<std::int64_t> step; ///< last that was compared; none: the rest is not known
    bool isKept = true;               ///< false: digests alone were, and tell not how far apart the weights are
    double relativeL2 = 0, maxAbsolute = 0, ulpMax = 0; ///< of the whole model at that step
};

/// A row per run; finished twins have none: they speak through the verdicts.
std::vector<ReportRow> reportRows(const StudyResults& results);

/// "4.27e-07", or "not kept", or "" where nothing was compared.
std::string distanceText(const ReportRow& row, double distance);

/// What it has come to: the verdict, "the reference", or the state of a run that has not finished.
std::string outcomeText(const ReportRow& row);

/// "5 of 6 runs differ from acc 1 · thr 1; all by rounding; …": of runs that were compared; no twins, no controls.
std::string summarySentence(const StudyResults& results);

/// What was trained on, as the workers recorded it; "" where no run has.
std::string dataLine(const StudyResults& results);

/// "Distances are of at most 1024 elements …" where not all weights were kept, or "".
std::string samplingNote(const StudyResults& results);

/// The reference of the whole study or its first group; nullptr where files were opened that have none.
const RunResult* referenceOf(const StudyResults& results);

/// A shape that tells verdicts apart without colour: ＝ ≈ ≋ ⇄ ⚂ ≠ ↻ ?; "" for no verdict.
std::string_view verdictSymbol(std::string_view kind);

/// "0.031 per step (0.029 … 0.034), doubling every 22 steps"
std::string growthText(const Growth& growth);

/// "accumulation and threads together: 2.6e-04, alone at most 3.8e-08 (…)"
std::string interactionText(const Interaction& interaction);

} // namespace driftscope
