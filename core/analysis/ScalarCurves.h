// SPDX-License-Identifier: GPL-3.0-or-later
// Curves of what a run records once a step: its loss, the norm of its gradient, …
#pragma once

#include "analysis/ViewData.h"

#include <span>
#include <string_view>

namespace driftscope {

struct ScalarInfo {
    Scalar scalar;
    std::string_view key;   ///< "loss", "grad_norm"
    std::string_view title; ///< "loss", "norm of the gradient"
    std::string_view unit;  ///< "", "s"
    std::string_view help;  ///< definition in one sentence
};
std::span<const ScalarInfo> scalarInfos();

struct ScalarChoice {
    Scalar scalar = Loss;
    std::vector<std::size_t> runs; ///< positions
    /// |run − reference| at their common steps, 0 on the floor of equal bits; else the values themselves.
    bool areDifferences = false;
    /// Values that are not all positive, or all lie within a decade, are on a linear axis nevertheless.
    bool isLogarithmic = true;
};

/// Runs that did not record it, and references where differences are asked for, have no curve.
CurveView makeScalarCurves(const StudyResults& results, const ScalarChoice& choice);

} // namespace driftscope
