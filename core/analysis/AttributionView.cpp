// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/AttributionView.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

HeatmapCell cellOf(const std::string& what, std::size_t compared, std::size_t identical, double median) {
    HeatmapCell cell;
    const std::string pairs = fmt::format("{} of {} pairs bit-identical", identical, compared);
    if (compared == 0) {
        cell.detail = fmt::format("{}: no pair to compare", what);
    } else if (identical == compared) {
        cell.kind = CellKind::Identical;
        cell.detail = fmt::format("{}: {}", what, pairs);
    } else if (!std::isfinite(median)) {
        cell.kind = CellKind::Nonfinite;
        cell.value = median;
        cell.detail = fmt::format("{}: {}; how far the others are apart is not kept", what, pairs);
    } else {
        cell.kind = CellKind::Value;
        cell.value = median;
        cell.detail = fmt::format("{}: {}; median of the others {:.3g}", what, pairs, median);
    }
    return cell;
}

/// Axes of the network have no layers in common, and columns of their own for nobody.
const AxisEffect* withMostLayers(const Attribution& attribution) {
    const auto most = std::ranges::max_element(attribution.axes, {}, [](const AxisEffect& a) { return a.layers.size(); });
    return most == attribution.axes.end() ? nullptr : &*most;
}

} // namespace

HeatmapView makeAttributionView(const StudyResults& results, const Attribution& attribution) {
    HeatmapView view;
    view.title = results.folder.study.name;
    view.rowTitle = "setting that alone differs";
    view.columnTitle = "layer";
    view.valueTitle = "median relative L2 distance at the last common step";
    HeatmapPanel& panel = view.panels.emplace_back();
    const AxisEffect* fullest = withMostLayers(attribution);
    if (!fullest)
        return view;
    panel.columnLabels.push_back(scopeTitle(Scope{}));
    for (const AxisEffect::Layer& layer : fullest->layers)
        panel.columnLabels.push_back(scopeTitle({ScopeKind::Layer, layer.name}));
    for (const AxisEffect& axis : attribution.axes) {
        panel.rowLabels.push_back(axis.axis);
        panel.cells.push_back(cellOf(axis.axis, axis.compared, axis.identical, axis.median));
        for (const AxisEffect::Layer& layer : fullest->layers) {
            const auto own = std::ranges::find(axis.layers, layer.name, &AxisEffect::Layer::name);
            panel.cells.push_back(own == axis.layers.end()
                                      ? HeatmapCell{CellKind::Missing, 0, axis.axis + ": not compared by layer", {}}
                                      : cellOf(fmt::format("{}, {}", axis.axis, scopeTitle({ScopeKind::Layer, own->name})),
                                               axis.compared, own->identical, own->median));
        }
    }
    for (const HeatmapCell& cell : panel.cells)
        if (cell.kind == CellKind::Value && cell.value > 0) {
            view.smallest = view.largest == 0 ? cell.value : std::min(view.smallest, cell.value);
            view.largest = std::max(view.largest, cell.value);
        }
    return view;
}

std::vector<std::string> attributionSentences(const Attribution& attribution) {
    std::vector<std::string> sentences;
    for (const AxisEffect& axis : attribution.axes) {
        if (axis.compared == 0)
            sentences.push_back(fmt::format("{}: no two finished runs differ in it alone.", axis.axis));
        else if (axis.identical == axis.compared)
            sentences.push_back(fmt::format("{} changes no bit ({} pairs).", axis.axis, axis.compared));
        else if (std::isnan(axis.median))
            sentences.push_back(fmt::format("{} changes bits in {} of {} pairs; how far is not kept.", axis.axis,
                                            axis.compared - axis.identical, axis.compared));
        else
            sentences.push_back(fmt::format("{} moves the weights by {:.2g} (median of {} of {} pairs; at most {:.2g}).",
                                            axis.axis, axis.median, axis.compared - axis.identical, axis.compared,
                                            axis.largest));
    }
    for (const Interaction& interaction : attribution.interactions)
        sentences.push_back(fmt::format("{} and {} together move them by {:.2g}, either alone by {:.2g} at most: {}.",
                                        interaction.first, interaction.second, interaction.together, interaction.alone,
                                        interaction.example));
    return sentences;
}

} // namespace driftscope
