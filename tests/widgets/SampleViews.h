// SPDX-License-Identifier: GPL-3.0-or-later
// Small results and views, written out by hand.
#pragma once

#include "analysis/ViewData.h"

#include <memory>

namespace driftscope::test {

/// accumulation 1, 2 × threads 1, 2; three steps. acc 1 · thr 1 is the reference, acc 1 · thr 2 is
/// identical to it, acc 2 · thr 1 differs from step 1 on, acc 2 · thr 2 has failed before it
/// recorded anything.
std::shared_ptr<StudyResults> sampleResults();

/// The same with the float64 twin of each run behind them, in their order; that of acc 2 · thr 1
/// differs too.
std::shared_ptr<StudyResults> sampleResultsWithTwins();

/// Rounding, on two pieces of evidence: one with numbers, one without.
Verdict sampleVerdict();

/// One curve with a point of every kind.
CurveView sampleCurves();

/// One cell of every kind, in a row.
HeatmapView sampleHeatmap();

} // namespace driftscope::test
