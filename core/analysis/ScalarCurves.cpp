// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ScalarCurves.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

constexpr std::array<ScalarInfo, ScalarCount> infos{{
    {Loss, "loss", "loss", "", "Mean loss of the step's batch, before the update."},
    {GradNormSq, "grad_norm", "norm of the gradient", "",
     "Euclidean norm of the gradient of all parameters together, as the update uses it."},
    {Accuracy, "accuracy", "accuracy", "", "Share of the step's batch whose largest output is the label, before the update."},
    {LearningRate, "learning_rate", "learning rate", "", "Learning rate of the update."},
    {StepSeconds, "step_seconds", "time of a step", "s",
     "Wall time from the batch to the end of the update; other work on the machine shows in it."},
}};

const ScalarInfo& infoOf(Scalar scalar) {
    return *std::ranges::find(infos, scalar, &ScalarInfo::scalar);
}

/// Recorded are squares of norms.
double shown(Scalar scalar, double recorded) { return scalar == GradNormSq ? std::sqrt(recorded) : recorded; }

void add(Curve& curve, std::int64_t step, double value, PointKind kind) {
    curve.steps.push_back(static_cast<double>(step));
    curve.values.push_back(kind == PointKind::Value ? value : 0);
    curve.kinds.push_back(kind);
}

/// Nothing is recorded of step 0: no update led to it.
Curve valuesOf(const RunResult& run, Scalar scalar) {
    Curve curve;
    const std::vector<double>& recorded = run.scalars[scalar];
    for (std::size_t row = 0; row < std::min(recorded.size(), run.steps.size()); ++row) {
        if (run.steps[row] == 0 && std::isnan(recorded[row]))
            continue;
        const double value = shown(scalar, recorded[row]);
        add(curve, run.steps[row], value, std::isfinite(value) ? PointKind::Value : PointKind::Nonfinite);
    }
    return curve;
}

Curve differencesOf(const RunResult& run, const RunResult& reference, Scalar scalar) {
    Curve curve;
    const std::vector<double>&ours = run.scalars[scalar], &theirs = reference.scalars[scalar];
    const std::size_t rows = std::min(ours.size(), run.steps.size()), others = std::min(theirs.size(), reference.steps.size());
    for (std::size_t i = 0, j = 0; i < rows && j < others;) {
        if (run.steps[i] != reference.steps[j]) {
            ++(run.steps[i] < reference.steps[j] ? i : j);
            continue;
        }
        const double a = shown(scalar, ours[i]), r = shown(scalar, theirs[j]);
        const bool areEqual = ours[i] == theirs[j] || (std::isnan(a) && std::isnan(r));
        const double distance = std::abs(a - r);
        if (run.steps[i] != 0 || !std::isnan(a) || !std::isnan(r))
            add(curve, run.steps[i], distance,
                areEqual                    ? PointKind::Identical
                : !std::isfinite(distance)  ? PointKind::Nonfinite
                : distance == 0             ? PointKind::Zero
                                            : PointKind::Value);
        if (!areEqual && !curve.firstDivergence)
            curve.firstDivergence = run.steps[i];
        ++i;
        ++j;
    }
    return curve;
}

void fitRange(CurveView& view) {
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    for (const Curve& curve : view.curves)
        for (std::size_t i = 0; i < curve.values.size(); ++i)
            if (curve.kinds[i] == PointKind::Value) {
                lowest = std::min(lowest, curve.values[i]);
                highest = std::max(highest, curve.values[i]);
            }
    if (lowest > highest)
        return;
    view.lowest = lowest;
    view.largest = highest;
    view.smallest = lowest;
}

} // namespace

std::span<const ScalarInfo> scalarInfos() { return infos; }

CurveView makeScalarCurves(const StudyResults& results, const ScalarChoice& choice) {
    const ScalarInfo& info = infoOf(choice.scalar);
    CurveView view;
    view.title = results.folder.study.name;
    view.xTitle = "step";
    view.areValues = !choice.areDifferences;
    const std::string unit = info.unit.empty() ? "" : fmt::format(" ({})", info.unit);
    view.yTitle = choice.areDifferences
                      ? fmt::format("|difference| of the {} to {}{}", info.title, referenceTitle(results), unit)
                      : fmt::format("{}{}", info.title, unit);
    for (const std::size_t position : choice.runs) {
        if (position >= results.runs.size())
            continue;
        const RunResult& run = results.runs[position];
        if (choice.areDifferences && !run.reference)
            continue;
        Curve curve = choice.areDifferences ? differencesOf(run, results.runs[*run.reference], choice.scalar)
                                            : valuesOf(run, choice.scalar);
        if (curve.steps.empty())
            continue;
        curve.run = position;
        curve.name = runTitle(run);
        view.curves.push_back(std::move(curve));
    }
    fitRange(view);
    view.isLogarithmic = choice.isLogarithmic && (choice.areDifferences || (view.lowest > 0 && view.largest >= 10 * view.lowest));
    placeFloor(view);
    return view;
}

} // namespace driftscope
