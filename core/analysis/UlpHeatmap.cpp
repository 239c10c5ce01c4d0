// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/UlpHeatmap.h"

#include "recording/RunReader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

using Counts = std::array<std::uint64_t, ulpBinCount>;

struct Column {
    std::int64_t step;
    Counts counts; ///< all 0: values differ, and are not kept
};

/// "0 (equal)", "1", "2 – 3", …, "≥ 2^31".
std::string binLabel(std::size_t bin) {
    if (bin == 0)
        return "0 (equal)";
    if (bin == 1)
        return "1";
    if (bin + 1 == ulpBinCount)
        return fmt::format("≥ 2^{}", bin - 1);
    if (bin <= 10)
        return fmt::format("{} – {}", std::uint64_t{1} << (bin - 1), (std::uint64_t{1} << bin) - 1);
    return fmt::format("2^{} – 2^{} − 1", bin - 1, bin);
}

/// Evenly chosen positions of `count`, the last one among them.
std::vector<std::size_t> chosenRows(std::size_t count, std::size_t most) {
    const std::size_t shown = std::min(count, std::max<std::size_t>(most, 1));
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < shown; ++i)
        rows.push_back(shown == 1 ? count - 1 : i * (count - 1) / (shown - 1));
    return rows;
}

std::vector<Column> columnsOfModel(const RunComparison& comparison, std::size_t most) {
    std::vector<Column> columns;
    for (const std::size_t row : chosenRows(comparison.rows(), most)) {
        // where only digests tell, the counts are of the tensors that are equal
        const bool isKnown = !std::isnan(comparison.value(Metric::UlpMax, row, 0));
        columns.push_back({comparison.steps[row], isKnown ? comparison.ulpHistograms[row] : Counts{}});
    }
    return columns;
}

std::vector<Column> readColumns(const StudyResults& results, const UlpChoice& choice, const std::stop_token& stop) {
    const RunResult& result = results.runs[choice.run];
    const RunReader run(results.folder.runFile(result.config));
    const RunReader reference(results.folder.runFile(results.runs[*result.reference].config));
    std::vector<TensorInfo> tensors;
    std::vector<std::pair<std::size_t, std::size_t>> positions; // in the run, and in the reference
    for (const std::size_t i : tensorsOf(run.parameters(), choice.scope)) {
        tensors.push_back(run.parameters()[i]);
        const auto other = std::ranges::find(reference.parameters(), tensors.back().name, &TensorInfo::name);
        positions.emplace_back(i, static_cast<std::size_t>(other - reference.parameters().begin()));
    }
    const std::vector<std::int64_t>& steps = result.comparison->steps;
    std::vector<Column> columns;
    for (const std::size_t row : chosenRows(steps.size(), choice.mostColumns)) {
        if (stop.stop_requested())
            break;
        const auto rowOf = [&](const RunReader& reader) {
            return static_cast<std::size_t>(std::ranges::lower_bound(reader.steps(), steps[row]) - reader.steps().begin());
        };
        std::vector<TensorRow> ours, theirs;
        for (const auto& [i, j] : positions) {
            ours.push_back(run.weights(i, rowOf(run)));
            theirs.push_back(reference.weights(j, rowOf(reference)));
        }
        columns.push_back({steps[row], measureRow(tensors, ours, theirs, false).ulpHistogram});
    }
    return columns;
}

} // namespace

HeatmapView makeUlpHeatmap(const StudyResults& results, const UlpChoice& choice, std::stop_token stop) {
    HeatmapView view;
    view.rowTitle = "distance (ULP)";
    view.columnTitle = "step";
    view.columnsAreSteps = true;
    view.panels.emplace_back();
    if (choice.run >= results.runs.size() || !results.runs[choice.run].comparison)
        return view;
    const RunResult& run = results.runs[choice.run];
    view.title = fmt::format("{}, {}", runTitle(run), scopeTitle(choice.scope));
    view.valueTitle = fmt::format("share of {}elements, against {}", run.config.record.weights == "sample" ? "sampled " : "",
                                  referenceTitle(results, choice.run));
    const std::vector<Column> columns = choice.scope.kind == ScopeKind::Model
                                            ? columnsOfModel(*run.comparison, choice.mostColumns)
                                            : readColumns(results, choice, stop);
    std::size_t farthest = 0;
    for (const Column& column : columns)
        for (std::size_t bin = 0; bin < ulpBinCount; ++bin)
            if (column.counts[bin] > 0)
                farthest = std::max(farthest, bin);
    HeatmapPanel& panel = view.panels.front();
    for (const Column& column : columns)
        panel.columnLabels.push_back(fmt::to_string(column.step));
    for (std::size_t bin = farthest + 1; bin-- > 0;) {
        panel.rowLabels.push_back(binLabel(bin));
        for (const Column& column : columns) {
            std::uint64_t all = 0;
            for (const std::uint64_t count : column.counts)
                all += count;
            HeatmapCell cell;
            cell.run = choice.run;
            if (all == 0) {
                cell.kind = CellKind::Nonfinite;
                cell.value = std::numeric_limits<double>::quiet_NaN();
                cell.detail = fmt::format("step {}: bits differ; how far is not kept", column.step);
            } else if (column.counts[bin] == 0) {
                cell.detail = fmt::format("step {}, {} ULP: no element", column.step, binLabel(bin));
            } else {
                cell.kind = CellKind::Value;
                cell.value = static_cast<double>(column.counts[bin]) / static_cast<double>(all);
                cell.detail = fmt::format("step {}, {} ULP: {} of {} elements ({:.3g} %)", column.step, binLabel(bin),
                                          column.counts[bin], all, 100 * cell.value);
                view.smallest = view.largest == 0 ? cell.value : std::min(view.smallest, cell.value);
                view.largest = std::max(view.largest, cell.value);
            }
            panel.cells.push_back(std::move(cell));
        }
    }
    return view;
}

} // namespace driftscope
