// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/HtmlReport.h"

#include "analysis/HtmlParts.h"
#include "analysis/Markup.h"
#include "analysis/ReportText.h"
#include "analysis/SvgPlots.h"
#include "analysis/ViewData.h"
#include "recording/Version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace driftscope {
namespace {

constexpr std::string_view marker = "<meta name=\"generator\" content=\"Driftscope ";
/// Bigger heatmaps would make a page that no mail takes: 2 MB.
constexpr std::size_t mostCells = 4000;

constexpr std::string_view pageStyle = R"(:root{--identical-run:#00703c;--rounding:#0b62c4;--precision:#00696f;--random:#8a2f8f;
--algorithmic:#b33a00;--run-to-run:#8a5300}
@media (prefers-color-scheme:dark){:root{--identical-run:#3ccf9e;--rounding:#6cb2ff;--precision:#4fd1d9;--random:#e09ae4;
--algorithmic:#ff8f5a;--run-to-run:#f0ad1f}}
body{margin:0;background:var(--background);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:28px;line-height:1.2;margin:0 0 8px}
h2{font-size:20px;margin:40px 0 8px;border-bottom:1px solid var(--grid)}
h3{font-size:16px;margin:24px 0 4px}
p{margin:4px 0 8px}
.description{white-space:pre-line}
.muted,figcaption,summary{color:var(--muted)}
.summary{font-size:18px;font-weight:600;margin:16px 0}
.wide,figure{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:4px 16px 4px 0;border-bottom:1px solid var(--grid)}
th{color:var(--muted);font-weight:600}
.runs th,.runs td{white-space:nowrap}
.runs td:nth-child(3){white-space:normal;min-width:16em}
.evidence td:nth-child(2){min-width:20em}
.evidence td:not(:nth-child(2)){white-space:nowrap;overflow-wrap:normal}
.badge{font-weight:600;white-space:nowrap}
.identical.badge{color:var(--identical-run)}
.rounding{color:var(--rounding)}
.precision{color:var(--precision)}
.data,.random{color:var(--random)}
.algorithmic{color:var(--algorithmic)}
.run-to-run{color:var(--run-to-run)}
.inconclusive{color:var(--muted)}
pre{background:var(--grid);padding:12px;overflow-x:auto;font-size:13px;border-radius:4px}
details{margin:4px 0}
summary{cursor:pointer}
td{overflow-wrap:anywhere}
footer{margin-top:40px;color:var(--muted);font-size:14px}
@media print{main{max-width:none}}
)";

std::string paragraph(const std::string& text, std::string_view cssClass = "") {
    if (text.empty())
        return "";
    return fmt::format("<p{}>{}</p>\n", cssClass.empty() ? "" : fmt::format(" class=\"{}\"", cssClass), escaped(text));
}

std::string head(const std::string& title) {
    return fmt::format("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
                       "<meta charset=\"utf-8\"/>\n"
                       "<meta name=\"generator\" content=\"{}\"/>\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                       "'unsafe-inline'\"/>\n"
                       "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
                       "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n",
                       generatorName(), escaped(title), plotStyle(), pageStyle);
}

std::string runsTable(const StudyResults& results) {
    std::vector<std::vector<std::string>> rows;
    for (const ReportRow& row : reportRows(results)) {
        const auto distance = [&](double value) {
            return row.step && row.isKept ? htmlNumber(value) : distanceText(row, value);
        };
        rows.push_back({escaped(runTitle(results.runs[row.run])), escaped(row.state),
                        row.isReference && row.first.empty() ? "the reference" : escaped(row.first),
                        distance(row.relativeL2), distance(row.maxAbsolute), distance(row.ulpMax),
                        row.step ? fmt::to_string(*row.step) : "", htmlBadge(row.verdict)});
    }
    return "<h2>Runs</h2>\n" + htmlTable({"run", "state", "first difference", "rel. L2", "max |a−r|", "max ULP", "at step",
                                          "verdict"},
                                         rows, "runs");
}

std::string curves(const StudyResults& results) {
    CurveChoice choice;
    choice.scopes = {Scope{}};
    bool hasTwins = false;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        choice.runs.push_back(i);
        hasTwins |= results.runs[i].config.isTwin && results.runs[i].comparison;
    }
    const CurveView view = makeCurves(results, choice);
    if (std::ranges::all_of(view.curves, &Curve::isTwin))
        return "";
    std::string_view twins;
    if (hasTwins)
        twins = " Dashed: the same run in float64, its distance times 2²⁹, the ratio of the machine epsilons: that of rounding "
                "lies near its run's curve, that of another function far above it.";
    return fmt::format("<h2>Distance by step</h2>\n<figure>\n{}<figcaption>Of the whole model. A dot marks the first step that "
                       "differs; what lies on the line at the bottom has equal bits.{}</figcaption>\n</figure>\n",
                       curvesSvg(view), twins);
}

std::int64_t lastStep(const StudyResults& results) {
    std::int64_t last = 0;
    for (const RunResult& run : results.runs)
        if (run.comparison && run.comparison->rows() > 0)
            last = std::max(last, run.comparison->steps.back());
    return last;
}

/// Twins say nothing of their own here.
void removeTwins(HeatmapPanel& panel, const StudyResults& results) {
    HeatmapPanel kept;
    kept.title = panel.title;
    kept.rowLabels = panel.rowLabels;
    const std::size_t columns = panel.columnLabels.size();
    const auto isTwin = [&](std::size_t column) { return results.runs[column].config.isTwin; };
    for (std::size_t column = 0; column < columns; ++column)
        if (!isTwin(column))
            kept.columnLabels.push_back(panel.columnLabels[column]);
    for (std::size_t i = 0; i < panel.cells.size(); ++i)
        if (!isTwin(i % columns))
            kept.cells.push_back(panel.cells[i]);
    panel = std::move(kept);
}

/// Keeps as many rows as fit: the whole model, and the layers that are furthest apart. Returns how many there were.
std::size_t removeSmallRows(HeatmapPanel& panel) {
    const std::size_t rows = panel.rowLabels.size(), columns = panel.columnLabels.size();
    const std::size_t most = std::max<std::size_t>(mostCells / std::max<std::size_t>(columns, 1), 2);
    if (rows <= most)
        return rows;
    std::vector<std::size_t> order(rows);
    std::vector<double> largest(rows, -1);
    for (std::size_t row = 0; row < rows; ++row) {
        order[row] = row;
        for (std::size_t column = 0; column < columns; ++column) {
            const HeatmapCell& cell = panel.cells[row * columns + column];
            largest[row] = std::max(largest[row], cell.kind == CellKind::Nonfinite ? HUGE_VAL : cell.value);
        }
    }
    std::ranges::stable_sort(order.begin() + 1, order.end(), std::ranges::greater{},
                             [&](std::size_t row) { return largest[row]; });
    order.resize(most);
    std::ranges::sort(order);
    HeatmapPanel kept;
    kept.title = panel.title;
    kept.columnLabels = panel.columnLabels;
    for (const std::size_t row : order) {
        kept.rowLabels.push_back(panel.rowLabels[row]);
        for (std::size_t column = 0; column < columns; ++column)
            kept.cells.push_back(panel.cells[row * columns + column]);
    }
    panel = std::move(kept);
    return rows;
}

void findRange(HeatmapView& view) {
    view.smallest = view.largest = 0;
    for (const HeatmapCell& cell : view.panels.front().cells)
        if (cell.kind == CellKind::Value && cell.value > 0) {
            view.smallest = view.largest == 0 ? cell.value : std::min(view.smallest, cell.value);
            view.largest = std::max(view.largest, cell.value);
        }
}

std::string heatmap(const StudyResults& results) {
    HeatmapChoice choice;
    choice.kind = HeatmapKind::LayersByRuns;
    choice.step = lastStep(results);
    HeatmapView view = makeHeatmap(results, choice);
    HeatmapPanel& panel = view.panels.front();
    removeTwins(panel, results);
    if (panel.cells.empty())
        return "";
    const std::size_t rows = removeSmallRows(panel);
    findRange(view);
    std::string caption = fmt::format("At step {}, or the last that a run has. Hover over a cell for its value.", choice.step);
    if (rows > panel.rowLabels.size())
        caption += fmt::format(" The {} of {} layers that are furthest apart.", panel.rowLabels.size() - 1, rows - 1);
    return fmt::format("<h2>Layers and runs</h2>\n<figure>\n{}<figcaption>{}</figcaption>\n</figure>\n", heatmapSvg(view),
                       escaped(caption));
}

std::string reproduction(const StudyResults& results, const HtmlReportContext& context) {
    if (results.folder.path.empty()) // files by themselves have no study
        return "";
    const std::string& written = context.studyToml;
    return fmt::format("<h2>The study</h2>\n<pre>{}</pre>\n<h2>To do it again</h2>\n"
                       "<p>Save the study above as study.toml, with its data where it says, then:</p>\n"
                       "<pre>driftscope-cli run study.toml -o again\ndriftscope-cli report again -o report.html\n"
                       "driftscope-cli cure again</pre>\n",
                       escaped(written.empty() ? toToml(results.folder.study) : written));
}

} // namespace

std::string htmlReport(const StudyResults& results, const HtmlReportContext& context) {
    const Study& study = results.folder.study;
    const std::string data = dataLine(results);
    std::string out = head(study.name) + "<body>\n<main>\n";
    out += fmt::format("<h1>{}</h1>\n", escaped(study.name));
    out += paragraph(study.description, "description") + paragraph(data.empty() ? "" : "Data: " + data, "muted");
    out += paragraph(summarySentence(results), "summary");
    out += runsTable(results) + paragraph(samplingNote(results), "muted");
    out += htmlVerdicts(results);
    out += curves(results) + heatmap(results);
    out += htmlGrowth(results) + htmlAttribution(context.attribution);
    out += htmlEnvironment(results) + reproduction(results, context);
    out += fmt::format("<footer>{}, {}</footer>\n</main>\n</body>\n</html>\n", escaped(generatorName()),
                       escaped(context.created));
    return out;
}

bool isHtmlReport(std::string_view beginning) {
    return beginning.starts_with("<!DOCTYPE html>") && beginning.find(marker) != std::string_view::npos;
}

} // namespace driftscope
