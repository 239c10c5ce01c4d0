// SPDX-License-Identifier: GPL-3.0-or-later
// Short texts about runs, worded alike in every view.
#pragma once

#include "analysis/StudyResults.h"

#include <QString>

#include <cstddef>
#include <optional>
#include <string>

namespace driftscope {

/// "acc 2 · thr 1", or the file's name where a run has no settings.
QString runName(const StudyResults& results, std::size_t run);

/// "relative L2 distance", with the unit if it has one.
QString metricName(Metric metric);

/// "1 run", "7 runs".
QString runCount(std::size_t runs);

/// "12 s left", "3 min left", "1.5 h left".
QString timeLeft(double seconds);

QString stateWord(RunState state);

/// A shape and a word: "✓ finished".
QString stateText(std::optional<RunState> state);

/// A kind of verdict as a shape and a word: "≈ rounding". "" where there is no verdict.
QString verdictText(const std::string& kind);

/// Model-wide divergence at the last compared step: "3.2e-07", "= identical", "reference" or "–".
QString divergenceText(const StudyResults& results, std::size_t run, Metric metric);

} // namespace driftscope
