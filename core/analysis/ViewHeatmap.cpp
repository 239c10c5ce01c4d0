// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ViewData.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

HeatmapCell cellOf(const RunComparison& comparison, std::size_t row, std::size_t scope, Metric metric) {
    const double value = comparison.value(metric, row, scope);
    if (comparison.isIdentical(row, scope))
        return {CellKind::Identical, 0, "bit-identical"};
    if (!std::isfinite(value))
        return {CellKind::Nonfinite, 0, "NaN or ±inf on one side"};
    const std::string_view unit = infoOf(metric).unit;
    return {CellKind::Value, value, fmt::format("{:.6g}{}{}", value, unit.empty() ? "" : " ", unit)};
}

/// The larger of two cells of a bin: non-finite, then values, then identical.
bool isLarger(const HeatmapCell& a, const HeatmapCell& b) {
    const auto rank = [](CellKind kind) { return kind == CellKind::Nonfinite ? 2 : kind == CellKind::Value ? 1 : 0; };
    return rank(a.kind) != rank(b.kind) ? rank(a.kind) > rank(b.kind) : a.value > b.value;
}

/// Last compared row whose step is at most `step`.
std::optional<std::size_t> rowAt(const RunComparison& comparison, std::int64_t step) {
    const auto after = std::ranges::upper_bound(comparison.steps, step);
    if (after == comparison.steps.begin())
        return std::nullopt;
    return static_cast<std::size_t>(after - comparison.steps.begin()) - 1;
}

/// What a run shows for one scope at one step, whatever its state.
HeatmapCell cellOfRun(const StudyResults& results, std::size_t i, const Scope& scope, std::int64_t step,
                      Metric metric) {
    const RunResult& run = results.runs[i];
    HeatmapCell cell;
    if (run.state == RunState::Unavailable) {
        cell = {CellKind::Unavailable, 0, "unavailable: " + run.message};
    } else if (!run.reference) {
        cell = {CellKind::Reference, 0, "the reference"};
    } else if (!run.comparison) {
        cell = {CellKind::Missing, 0, run.comparisonProblem.empty() ? run.message : run.comparisonProblem};
    } else {
        const auto row = rowAt(*run.comparison, step);
        const auto index = run.comparison->findScope(scope);
        if (row && index) {
            cell = cellOf(*run.comparison, *row, *index, metric);
            cell.detail += fmt::format(" at step {}", run.comparison->steps[*row]);
        }
    }
    cell.detail = fmt::format("{}, {}: {}", runTitle(run), scopeTitle(scope),
                              cell.detail.empty() ? "nothing recorded yet" : cell.detail);
    cell.run = i;
    return cell;
}

std::vector<Scope> rowScopes(std::vector<Scope> scopes, bool perTensor) {
    const ScopeKind kind = perTensor ? ScopeKind::Tensor : ScopeKind::Layer;
    std::erase_if(scopes, [&](const Scope& scope) { return scope.kind != kind && scope.kind != ScopeKind::Model; });
    return scopes;
}

void layersBySteps(const StudyResults& results, const HeatmapChoice& choice, HeatmapView& view) {
    view.rowTitle = choice.perTensor ? "tensor" : "layer";
    view.columnTitle = "step";
    view.columnsAreSteps = true;
    HeatmapPanel panel;
    if (choice.run < results.runs.size() && results.runs[choice.run].comparison) {
        const RunResult& run = results.runs[choice.run];
        const RunComparison& comparison = *run.comparison;
        view.title = runTitle(run);
        const std::size_t columns = std::max<std::size_t>(choice.maxColumns, 1);
        const std::size_t bin = (comparison.rows() + columns - 1) / columns;
        for (std::size_t row = 0; row < comparison.rows(); row += bin)
            panel.columnLabels.push_back(fmt::to_string(comparison.steps[row]));
        for (const Scope& scope : rowScopes(comparison.scopes, choice.perTensor)) {
            const std::size_t index = *comparison.findScope(scope);
            panel.rowLabels.push_back(scopeTitle(scope));
            for (std::size_t row = 0; row < comparison.rows(); row += bin) {
                HeatmapCell largest = cellOf(comparison, row, index, choice.metric);
                std::size_t at = row;
                for (std::size_t other = row + 1; other < std::min(row + bin, comparison.rows()); ++other)
                    if (HeatmapCell cell = cellOf(comparison, other, index, choice.metric); isLarger(cell, largest)) {
                        largest = std::move(cell);
                        at = other;
                    }
                largest.detail = fmt::format("{}, step {}: {}", scopeTitle(scope), comparison.steps[at], largest.detail);
                largest.run = choice.run;
                panel.cells.push_back(std::move(largest));
            }
        }
    }
    view.panels.push_back(std::move(panel));
}

void layersByRuns(const StudyResults& results, const HeatmapChoice& choice, HeatmapView& view) {
    view.title = fmt::format("step {}", choice.step);
    view.rowTitle = choice.perTensor ? "tensor" : "layer";
    view.columnTitle = "run";
    HeatmapPanel panel;
    for (const RunResult& run : results.runs)
        panel.columnLabels.push_back(runTitle(run));
    for (const Scope& scope : rowScopes(commonScopes(results), choice.perTensor)) {
        panel.rowLabels.push_back(scopeTitle(scope));
        for (std::size_t i = 0; i < results.runs.size(); ++i)
            panel.cells.push_back(cellOfRun(results, i, scope, choice.step, choice.metric));
    }
    view.panels.push_back(std::move(panel));
}

const Axis* findAxis(const StudyResults& results, const std::string& key) {
    const auto& axes = results.folder.study.axes;
    const auto found = std::ranges::find(axes, key, &Axis::key);
    return found == axes.end() ? nullptr : &*found;
}

std::string axisTitle(const Axis* axis) {
    if (!axis)
        return "";
    std::string text(axis->key);
    std::ranges::replace(text, '_', ' ');
    return text;
}

/// The runs whose named axes have these values and whose other axes have the reference's.
std::optional<std::size_t> findRun(const StudyResults& results, const std::vector<Assignment>& wanted) {
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const RunConfig& config = results.runs[i].config;
        const bool matches = !config.isTwin && !config.isControl && std::ranges::all_of(config.settings, [&](const Assignment& setting) {
            const auto asked = std::ranges::find(wanted, setting.key, &Assignment::key);
            if (asked != wanted.end())
                return asked->value == setting.value;
            const auto& reference = results.folder.study.reference;
            const auto fixed = std::ranges::find(reference, setting.key, &Assignment::key);
            return fixed == reference.end() || fixed->value == setting.value;
        });
        if (matches)
            return i;
    }
    return std::nullopt;
}

void settingsBySettings(const StudyResults& results, const HeatmapChoice& choice, HeatmapView& view) {
    const Axis* rows = findAxis(results, choice.rowAxis);
    const Axis* columns = findAxis(results, choice.columnAxis);
    const Axis* panels = findAxis(results, choice.panelAxis);
    view.title = fmt::format("{}, step {}", scopeTitle(choice.scope), choice.step);
    view.rowTitle = axisTitle(rows);
    view.columnTitle = axisTitle(columns);
    const std::vector<SettingValue> one{SettingValue{}};
    const auto texts = [](const Axis* axis) { return axis ? valueTexts(*axis) : std::vector<std::string>(1); };
    const std::vector<std::string> panelTexts = texts(panels);
    for (const SettingValue& panelValue : panels ? panels->values : one) {
        HeatmapPanel panel;
        if (panels)
            panel.title = fmt::format("{} {}", axisTitle(panels), panelTexts[view.panels.size()]);
        panel.columnLabels = texts(columns);
        panel.rowLabels = texts(rows);
        for (const SettingValue& rowValue : rows ? rows->values : one) {
            for (const SettingValue& columnValue : columns ? columns->values : one) {
                std::vector<Assignment> wanted;
                if (rows)
                    wanted.push_back({rows->key, rowValue});
                if (columns)
                    wanted.push_back({columns->key, columnValue});
                if (panels)
                    wanted.push_back({panels->key, panelValue});
                const auto run = findRun(results, wanted);
                panel.cells.push_back(run ? cellOfRun(results, *run, choice.scope, choice.step, choice.metric)
                                          : HeatmapCell{CellKind::Missing, 0, "no such run"});
            }
        }
        view.panels.push_back(std::move(panel));
    }
}

} // namespace

HeatmapView makeHeatmap(const StudyResults& results, const HeatmapChoice& choice) {
    HeatmapView view;
    const bool isOfOneRun = choice.kind == HeatmapKind::LayersBySteps;
    view.valueTitle = quantityTitle(results, choice.metric, isOfOneRun ? std::optional(choice.run) : std::nullopt);
    switch (choice.kind) {
    case HeatmapKind::LayersBySteps: layersBySteps(results, choice, view); break;
    case HeatmapKind::LayersByRuns: layersByRuns(results, choice, view); break;
    case HeatmapKind::SettingsBySettings: settingsBySettings(results, choice, view); break;
    }
    if (const std::string& study = results.folder.study.name; !study.empty())
        view.title = view.title.empty() ? study : fmt::format("{}: {}", study, view.title);
    for (const HeatmapPanel& panel : view.panels)
        for (const HeatmapCell& cell : panel.cells) {
            if (cell.kind != CellKind::Value || cell.value <= 0)
                continue;
            view.smallest = view.largest == 0 ? cell.value : std::min(view.smallest, cell.value);
            view.largest = std::max(view.largest, cell.value);
        }
    return view;
}

void chooseAxes(const StudyResults& results, HeatmapChoice& choice) {
    // accumulation × threads where there are both, else the axes in their order; repeats last
    std::vector<std::string> keys;
    for (const Axis& axis : results.folder.study.axes)
        if (axis.values.size() > 1)
            keys.push_back(axis.key);
    std::ranges::stable_sort(keys, {}, [](const std::string& key) {
        return key == "accumulation" ? 0 : key == "threads" ? 1 : key == "repeat" ? 3 : 2;
    });
    choice.rowAxis = keys.empty() ? "" : keys[0];
    choice.columnAxis = keys.size() < 2 ? "" : keys[1];
    choice.panelAxis = keys.size() < 3 ? "" : keys[2];
}

} // namespace driftscope
