// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/HtmlParts.h"
#include "analysis/Markup.h"
#include "analysis/ReportText.h"
#include "analysis/ViewData.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

/// More sections than this show their evidence when asked.
constexpr std::size_t mostOpen = 6;

using Rows = std::vector<std::vector<std::string>>;

bool hasVerdictToShow(const RunResult& run) { return !run.config.isTwin && run.comparison && run.comparison->first; }

std::string evidenceTable(const Verdict& verdict) {
    Rows rows;
    for (const Evidence& evidence : verdict.evidence)
        rows.push_back({escaped(evidence.name), escaped(evidence.text), htmlNumber(evidence.value),
                        htmlNumber(evidence.threshold), escaped(evidence.says)});
    return htmlTable({"evidence", "", "value", "threshold", "speaks for"}, rows, "evidence");
}

std::string windowText(const Growth& growth) { return fmt::format("{} – {}", growth.firstStep, growth.lastStep); }

/// Divergence of pairs: the median, and how many pairs have equal bits.
std::string layerCell(const AxisEffect& effect, const std::string& layer) {
    const auto found = std::ranges::find(effect.layers, layer, &AxisEffect::Layer::name);
    if (found == effect.layers.end())
        return "";
    if (std::isnan(found->median))
        return "not kept";
    return fmt::format("{} <span class=\"muted\">({} of {} identical)</span>", htmlNumber(found->median), found->identical,
                       effect.compared);
}

std::string layerTable(const std::vector<AxisEffect>& effects) {
    std::vector<std::string> header{"layer"}, layers;
    for (const AxisEffect& effect : effects) {
        header.push_back(escaped(effect.axis));
        for (const AxisEffect::Layer& layer : effect.layers)
            if (std::ranges::find(layers, layer.name) == layers.end())
                layers.push_back(layer.name);
    }
    Rows rows;
    for (const std::string& layer : layers) {
        std::vector<std::string> row{escaped(scopeTitle({ScopeKind::Layer, layer}))};
        for (const AxisEffect& effect : effects)
            row.push_back(layerCell(effect, layer));
        rows.push_back(std::move(row));
    }
    return htmlTable(header, rows, "numbers");
}

std::string keptNumber(double value) { return std::isnan(value) ? "not kept" : htmlNumber(value); }

} // namespace

std::string htmlTable(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                      std::string_view cssClass) {
    const auto line = [](const std::vector<std::string>& cells, std::string_view tag) {
        std::string out = "<tr>";
        for (const std::string& cell : cells)
            out += fmt::format("<{0}>{1}</{0}>", tag, cell);
        return out + "</tr>\n";
    };
    std::string out = fmt::format("<div class=\"wide\"><table{}>\n<thead>{}</thead>\n<tbody>\n",
                                  cssClass.empty() ? "" : fmt::format(" class=\"{}\"", cssClass), line(header, "th"));
    for (const auto& row : rows)
        out += line(row, "td");
    return out + "</tbody></table></div>\n";
}

std::string htmlNumber(double value) {
    if (std::isnan(value))
        return "";
    const std::string text = shortNumber(value);
    const std::string exact = std::isfinite(value) ? fmt::format("{}", value) : text;
    return exact == text ? text : fmt::format("<span title=\"{}\">{}</span>", exact, text);
}

std::string htmlBadge(std::string_view kind) {
    if (kind.empty())
        return "";
    const std::string_view symbol = verdictSymbol(kind);
    return fmt::format("<span class=\"badge {}\">{} {}</span>", symbol.empty() ? "inconclusive" : kind, symbol,
                       escaped(kind));
}

std::string htmlVerdicts(const StudyResults& results) {
    const auto count = static_cast<std::size_t>(std::ranges::count_if(results.runs, hasVerdictToShow));
    if (count == 0)
        return "";
    std::string out = "<h2>Why they differ</h2>\n";
    for (const RunResult& run : results.runs) {
        if (!hasVerdictToShow(run))
            continue;
        out += fmt::format("<section>\n<h3>{} {}</h3>\n<p>{}</p>\n<p class=\"muted\">First difference: {}.</p>\n",
                           escaped(runTitle(run)), htmlBadge(run.verdict.kind), escaped(run.verdict.summary),
                           escaped(toText(*run.comparison->first)));
        if (!run.verdict.evidence.empty())
            out += fmt::format("<details{}><summary>Evidence</summary>\n{}</details>\n",
                               count <= mostOpen ? " open=\"open\"" : "", evidenceTable(run.verdict));
        out += "</section>\n";
    }
    return out;
}

std::string htmlGrowth(const StudyResults& results) {
    Rows rows;
    for (const RunResult& run : results.runs) {
        if (run.config.isTwin || !run.growth)
            continue;
        const Growth& growth = *run.growth;
        const bool isExponential = growth.form == GrowthForm::Exponential;
        const char* form = !growth.isGrowing() ? "none: level or shrinking"
                           : isExponential     ? "exponential"
                                               : "power of the step";
        rows.push_back({escaped(runTitle(run)), form,
                        htmlNumber(growth.rate) + (isExponential ? " per step" : ""),
                        fmt::format("{} … {}", htmlNumber(growth.low), htmlNumber(growth.high)),
                        growth.isGrowing() ? htmlNumber(growth.doublingSteps) : "", windowText(growth),
                        fmt::to_string(growth.points)});
    }
    if (rows.empty())
        return "";
    return "<h2>How fast it grows</h2>\n"
           "<p>Median slope (Theil–Sen) of the logarithm of the relative L2 distance against the step, or against the "
           "logarithm of the step, whichever fits better; with its 95 % interval.</p>\n" +
           htmlTable({"run", "growth", "rate, or exponent", "95 % interval", "steps to double", "steps fitted", "rows"},
                     rows, "numbers");
}

std::string htmlAttribution(const Attribution& attribution) {
    Rows rows;
    std::vector<AxisEffect> compared;
    for (const AxisEffect& effect : attribution.axes) {
        if (effect.compared == 0)
            continue;
        compared.push_back(effect);
        const std::string pairs = effect.compared == effect.pairs
                                      ? fmt::to_string(effect.pairs)
                                      : fmt::format("{} of {}", effect.compared, effect.pairs);
        rows.push_back({escaped(effect.axis), pairs, fmt::format("{} of {}", effect.identical, effect.compared),
                        keptNumber(effect.median), keptNumber(effect.largest)});
    }
    if (rows.empty())
        return "";
    std::string out = "<h2>Which setting does it</h2>\n"
                      "<p>Pairs of runs that differ in this setting alone, at their last common step; the median is of the "
                      "pairs that differ.</p>\n" +
                      htmlTable({"setting", "pairs", "bit-identical", "median relative L2 distance", "largest"}, rows,
                                "numbers");
    for (const Interaction& interaction : attribution.interactions)
        out += fmt::format("<p>{}.</p>\n", escaped(interactionText(interaction)));
    return out + fmt::format("<details><summary>By layer</summary>\n{}</details>\n", layerTable(compared));
}

} // namespace driftscope
