// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ViewData.h"

#include "analysis/Twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace driftscope {

std::string shortNumber(double value) {
    if (value == 0)
        return "0";
    if (!std::isfinite(value))
        return std::isnan(value) ? "NaN" : value > 0 ? "∞" : "−∞";
    const double size = std::abs(value);
    if (size >= 1e-3 && size < 1e4)
        return fmt::format("{:.3g}", value);
    return fmt::format("{:.2e}", value);
}

std::string scopeTitle(const Scope& scope) {
    if (scope.kind == ScopeKind::Model)
        return "whole model";
    return scope.name.empty() ? "(model's own)" : scope.name;
}

std::string referenceTitle(const StudyResults& results, std::optional<std::size_t> run) {
    std::optional<std::size_t> reference;
    bool areSeveral = false;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        if ((run && i != *run) || results.runs[i].config.isTwin)
            continue;
        if (const auto other = results.runs[i].reference; other) {
            areSeveral = areSeveral || (reference && *reference != *other);
            reference = other;
        }
    }
    if (areSeveral)
        return fmt::format("the reference of the same {}", fmt::join(results.folder.study.groups, " and "));
    return reference ? runTitle(results.runs[*reference]) : "";
}

std::string quantityTitle(const StudyResults& results, Metric metric, std::optional<std::size_t> run) {
    const MetricInfo& info = infoOf(metric);
    std::string text(info.title);
    if (const std::string reference = referenceTitle(results, run); !reference.empty())
        text += fmt::format(" to {}", reference);
    if (!info.unit.empty())
        text += fmt::format(" ({})", info.unit);
    return text;
}

std::string runTitle(const RunResult& run) {
    // runs that were opened as files have the file as their id
    const std::string name = label(run.config);
    const bool isFile = run.config.id.find('/') != std::string::npos || run.config.id.ends_with(".h5");
    if (!isFile)
        return name;
    const std::size_t slash = run.config.id.rfind('/');
    const std::string file = slash == std::string::npos ? run.config.id : run.config.id.substr(slash + 1);
    return name == "run" ? file : fmt::format("{} ({})", name, file);
}

std::vector<Scope> commonScopes(const StudyResults& results) {
    std::vector<Scope> scopes;
    bool isFirst = true;
    for (const RunResult& run : results.runs) {
        if (!run.comparison)
            continue;
        if (isFirst)
            scopes = run.comparison->scopes;
        else
            std::erase_if(scopes, [&](const Scope& scope) { return !run.comparison->findScope(scope); });
        isFirst = false;
    }
    return scopes;
}

namespace {

/// What a twin's values are multiplied with.
constexpr double twinScale = 0x1p29;

/// Grows with the machine epsilon: neither a count, nor a share, nor in ULP, nor the square that a cosine is.
bool isDistance(Metric metric) {
    switch (metric) {
    case Metric::L2:
    case Metric::RelativeL2:
    case Metric::MaxAbsolute:
    case Metric::MeanAbsolute:
    case Metric::MaxRelative: return true;
    default: return false;
    }
}

Curve makeCurve(const RunComparison& comparison, std::size_t scope, Metric metric, double scale) {
    Curve curve;
    curve.scope = comparison.scopes[scope];
    curve.scale = scale;
    curve.steps.assign(comparison.steps.begin(), comparison.steps.end());
    for (std::size_t row = 0; row < comparison.rows(); ++row) {
        const double value = comparison.value(metric, row, scope) * scale;
        if (comparison.isIdentical(row, scope)) {
            curve.values.push_back(0);
            curve.kinds.push_back(PointKind::Identical);
        } else if (!std::isfinite(value)) {
            curve.values.push_back(0);
            curve.kinds.push_back(PointKind::Nonfinite);
        } else {
            curve.values.push_back(value);
            curve.kinds.push_back(value > 0 ? PointKind::Value : PointKind::Zero);
        }
        if (!curve.firstDivergence && !comparison.isIdentical(row, scope))
            curve.firstDivergence = comparison.steps[row];
    }
    return curve;
}

void extendRange(CurveView& view, const Curve& curve) {
    for (std::size_t i = 0; i < curve.values.size(); ++i) {
        if (curve.kinds[i] != PointKind::Value)
            continue;
        view.smallest = view.largest == 0 ? curve.values[i] : std::min(view.smallest, curve.values[i]);
        view.largest = std::max(view.largest, curve.values[i]);
    }
}

/// One for each of the scopes that the run has.
void addCurves(const StudyResults& results, const CurveChoice& choice, std::size_t run, CurveView& view) {
    const RunResult& result = results.runs[run];
    const RunComparison& comparison = *result.comparison;
    const bool isTwin = result.config.isTwin;
    const bool isScaled = isTwin && isDistance(choice.metric);
    for (std::size_t style = 0; style < choice.scopes.size(); ++style) {
        const auto scope = comparison.findScope(choice.scopes[style]);
        if (!scope)
            continue;
        Curve curve = makeCurve(comparison, *scope, choice.metric, isScaled ? twinScale : 1);
        curve.run = runOfTwin(results, run).value_or(run);
        curve.isTwin = isTwin;
        curve.style = style;
        curve.name = runTitle(result);
        if (isScaled)
            curve.name += " × 2²⁹";
        if (choice.scopes.size() > 1 || choice.scopes[style].kind != ScopeKind::Model)
            curve.name += fmt::format(", {}", scopeTitle(choice.scopes[style]));
        extendRange(view, curve);
        view.curves.push_back(std::move(curve));
    }
}

} // namespace

bool hasTwinCurves(const StudyResults& results, Metric metric) {
    if (!isDistance(metric) ||
        std::ranges::none_of(results.runs, [](const RunResult& run) { return run.config.isTwin; }))
        return false;
    for (std::size_t run = 0; run < results.runs.size(); ++run)
        if (comparedTwinOf(results, run))
            return true;
    return false;
}

void placeFloor(CurveView& view) {
    view.floor = view.largest > 0 ? std::pow(10, std::floor(std::log10(view.smallest) - 0.5)) : 1e-8;
    if (view.floor <= 0)
        view.floor = 1e-323;
}

CurveView makeCurves(const StudyResults& results, const CurveChoice& choice) {
    CurveView view;
    view.title = results.folder.study.name;
    view.xTitle = "step";
    view.yTitle = quantityTitle(results, choice.metric);
    for (const std::size_t run : choice.runs) {
        if (run >= results.runs.size() || !results.runs[run].comparison)
            continue;
        addCurves(results, choice, run, view);
        if (!choice.withTwins || !isDistance(choice.metric))
            continue;
        const auto twin = comparedTwinOf(results, run);
        if (twin && std::ranges::find(choice.runs, *twin) == choice.runs.end())
            addCurves(results, choice, *twin, view);
    }
    placeFloor(view);
    return view;
}

namespace {

std::string_view nameOf(PointKind kind) {
    switch (kind) {
    case PointKind::Value: return "value";
    case PointKind::Identical: return "identical";
    case PointKind::Zero: return "zero";
    case PointKind::Nonfinite: return "nonfinite";
    }
    return "";
}

std::string_view nameOf(CellKind kind) {
    switch (kind) {
    case CellKind::Value: return "value";
    case CellKind::Identical: return "identical";
    case CellKind::Nonfinite: return "nonfinite";
    case CellKind::Reference: return "reference";
    case CellKind::Unavailable: return "unavailable";
    case CellKind::Missing: return "missing";
    }
    return "";
}

} // namespace

std::string csvQuoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string result = "\"";
    for (const char c : text)
        result.append(c == '"' ? 2 : 1, c);
    return result + "\"";
}

std::string toCsv(const CurveView& view) {
    const bool isScaled = std::ranges::any_of(view.curves, [](const Curve& curve) { return curve.scale != 1; });
    std::string out = fmt::format("curve,step,{},kind{}\n", csvQuoted(view.yTitle), isScaled ? ",scale" : "");
    for (const Curve& curve : view.curves) {
        const std::string scale = isScaled ? fmt::format(",{:.0f}", curve.scale) : "";
        for (std::size_t i = 0; i < curve.steps.size(); ++i) {
            const PointKind kind = curve.kinds[i];
            out += fmt::format("{},{:.0f},{},{}{}\n", csvQuoted(curve.name), curve.steps[i],
                               kind == PointKind::Nonfinite ? "inf" : fmt::format("{}", curve.values[i]),
                               nameOf(kind), scale);
        }
    }
    return out;
}

std::string toCsv(const HeatmapView& view) {
    std::string out = fmt::format("panel,{},{},{},kind\n", csvQuoted(view.rowTitle), csvQuoted(view.columnTitle),
                                  csvQuoted(view.valueTitle));
    for (const HeatmapPanel& panel : view.panels)
        for (std::size_t i = 0; i < panel.cells.size(); ++i) {
            const HeatmapCell& cell = panel.cells[i];
            const std::size_t columns = panel.columnLabels.size();
            const bool hasValue = cell.kind == CellKind::Value || cell.kind == CellKind::Identical;
            out += fmt::format("{},{},{},{},{}\n", csvQuoted(panel.title), csvQuoted(panel.rowLabels[i / columns]),
                               csvQuoted(panel.columnLabels[i % columns]),
                               cell.kind == CellKind::Nonfinite ? "inf"
                               : hasValue                       ? fmt::format("{}", cell.value)
                                                                : "",
                               nameOf(cell.kind));
        }
    return out;
}

} // namespace driftscope
