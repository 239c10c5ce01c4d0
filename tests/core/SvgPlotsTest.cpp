// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/SvgPlots.h"

#include "analysis/Markup.h"
#include "analysis/SvgText.h"
#include "support/Files.h"
#include "support/HandMadeResults.h"
#include "support/Python.h"
#include "support/TemporaryFolder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

using Json = nlohmann::json;
using test::comparisonOf;
using test::resultsOf;
using test::wholeModel;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What an XML parser finds in a picture: texts, titles, and whether all coordinates are finite and inside. Text that is
/// turned has its place elsewhere.
constexpr const char* readSvg = R"(
import math
import xml.etree.ElementTree as ET
root = ET.parse(sys.argv[1]).getroot()
width, height = (float(root.get(key)) for key in ("width", "height"))
tag = lambda element: element.tag.split("}")[1]
outside = []
points = []
for element in root.iter():
    if element.get("transform") or tag(element) in ("svg", "pattern"):
        continue
    pairs = [(element.get(x), element.get(y)) for x, y in (("x", "y"), ("x1", "y1"), ("x2", "y2"), ("cx", "cy"))]
    line = [tuple(point.split(",")) for point in element.get("points", "").split()]
    if line:
        points.append(len(line))
    for x, y in [pair for pair in pairs if pair[0]] + line:
        if not (math.isfinite(float(x)) and math.isfinite(float(y)) and -1 <= float(x) <= width and -1 <= float(y) <= height):
            outside.append([tag(element), x, y])
texts = lambda name: [element.text for element in root.iter() if tag(element) == name]
print(json.dumps({"texts": texts("text"), "titles": texts("title"), "outside": outside, "points": points,
                  "classes": [element.get("class") for element in root.iter() if element.get("class")]}))
)";

test::PythonResult parsed(const std::string& svg) {
    const test::TemporaryFolder folder;
    test::writeFile(folder / "plot.svg", svg);
    return test::runPython(readSvg, {(folder / "plot.svg").string()});
}

/// Declares `found`, what the parser found; skips the test without Python's libraries, fails it for broken markup.
#define READ_SVG(found, svg)                                                                                           \
    const test::PythonResult found##Result = parsed(svg);                                                            \
    if (found##Result.hasNoLibraries)                                                                                  \
        GTEST_SKIP() << found##Result.output;                                                                          \
    ASSERT_EQ(found##Result.exitCode, 0) << found##Result.output;                                                      \
    const Json found = Json::parse(found##Result.output)

bool has(const Json& list, const std::string& text) { return std::ranges::find(list, Json(text)) != list.end(); }

CurveView curvesOf(const std::vector<double>& values, Metric metric = Metric::RelativeL2,
                   const std::vector<std::size_t>& zeroButChanged = {}) {
    StudyResults results = resultsOf("threads = [1, 2]");
    results.runs[1].comparison = comparisonOf(metric, values, zeroButChanged);
    return makeCurves(results, {metric, {1}, {wholeModel}});
}

TEST(Markup, TextOfOthersIsEscaped) {
    EXPECT_EQ(escaped("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    EXPECT_EQ(escaped("acc 2 · thr 1 \U0001F600\t\n"), "acc 2 · thr 1 \U0001F600\t\n");
    EXPECT_EQ(escaped(""), "");
}

TEST(Markup, WhatIsNoCharacterIsReplaced) {
    const std::string no = "\uFFFD";
    EXPECT_EQ(escaped(std::string_view("a\0b", 3)), "a" + no + "b");
    EXPECT_EQ(escaped("\x1b[31m"), no + "[31m");
    EXPECT_EQ(escaped("\xff<"), no + "&lt;");
    EXPECT_EQ(escaped("\xc0\xbc"), no + no);                // an overlong "<"
    EXPECT_EQ(escaped("\xe2\x82"), no + no);                // cut off
    EXPECT_EQ(escaped("\xe2<\xac"), no + "&lt;" + no);      // broken into
    EXPECT_EQ(escaped("\xed\xa0\x80"), no + no + no);       // a surrogate
    EXPECT_EQ(escaped("\xef\xbf\xbf"), no + no + no);       // U+FFFF
    EXPECT_EQ(escaped("\xf4\x90\x80\x80"), no + no + no + no); // behind the last plane
}

TEST(SvgText, PowersTicksAndShortNames) {
    EXPECT_EQ(powerOfTen(-7), "10⁻⁷");
    EXPECT_EQ(powerOfTen(0), "10⁰");
    EXPECT_EQ(powerOfTen(12), "10¹²");
    const auto labelsOf = [](double low, double high) {
        std::vector<std::string> labels;
        for (const LogTick& tick : logTicks(low, high))
            labels.push_back(tick.label);
        return labels;
    };
    EXPECT_EQ(labelsOf(-7, -4), (std::vector<std::string>{"10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴"}));
    EXPECT_EQ(labelsOf(-7, -6), (std::vector<std::string>{"10⁻⁷", "2·10⁻⁷", "5·10⁻⁷", "10⁻⁶"}));
    EXPECT_LE(labelsOf(-324, 309).size(), 11U);
    EXPECT_EQ(shortened("fc1", 5), "fc1");
    EXPECT_EQ(shortened("abcdef", 4), "…def");
    EXPECT_EQ(shortened("ααβγδ", 4), "…βγδ");
}

TEST(SvgCurves, PointsLieWhereTheyShould) {
    // a floor at 1e-7, an upper end at 10^-3.5: 360 px over 3.5 decades, 744 px over 20 steps
    const std::string svg = curvesSvg(curvesOf({0, 1e-6, 1e-4}));
    EXPECT_HAS(svg, "points=\"112.0,388.0 484.0,285.1 856.0,79.4\"");
    EXPECT_HAS(svg, "<circle cx=\"484.0\" cy=\"285.1\" r=\"3\"/>"); // the first that differs
    READ_SVG(found, svg);
    EXPECT_EQ(found["outside"], Json::array());
    EXPECT_TRUE(has(found["texts"], "bit-identical"));
    EXPECT_TRUE(has(found["texts"], "relative L2 distance to thr 1"));
    EXPECT_TRUE(has(found["texts"], "step"));
    EXPECT_TRUE(has(found["texts"], "thr 2"));
    for (const char* label : {"10⁻⁶", "10⁻⁵", "10⁻⁴"})
        EXPECT_TRUE(has(found["texts"], label)) << label;
    EXPECT_FALSE(has(found["texts"], "10⁻⁷")); // the floor is no value
    EXPECT_TRUE(has(found["classes"], "run1"));
    EXPECT_FALSE(has(found["classes"], "curve twin"));
}

TEST(SvgCurves, NothingIsDrawnWhereItCantBe) {
    const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
    for (const std::vector<double>& values :
         {std::vector<double>{0, infinity, std::nan(""), 1e-300, 1e300}, {least, most}, {0, 0, 0}, {infinity}, {1}, {0}, {}}) {
        const std::string svg = curvesSvg(curvesOf(values));
        READ_SVG(found, svg);
        EXPECT_EQ(found["outside"], Json::array()) << values.size();
        EXPECT_TRUE(has(found["texts"], "bit-identical"));
        EXPECT_EQ(has(found["texts"], "NaN or infinite on one side, or weights not kept"),
                  std::ranges::any_of(values, [](double value) { return !std::isfinite(value); }));
    }
}

TEST(SvgCurves, AZeroWhoseBitsDifferIsNotOnTheFloor) {
    const std::string svg = curvesSvg(curvesOf({0, 0, 3}, Metric::SignFlips, {1}));
    READ_SVG(found, svg);
    EXPECT_TRUE(has(found["texts"], "bits differ, distance 0"));
    EXPECT_HAS(svg, "112.0,388.0 484.0,402.0 ");
}

TEST(SvgCurves, LongCurvesAreThinnedAndKeepTheirPeaks) {
    std::vector<double> values(20'000, 1e-6);
    values[7777] = 1;
    values[12345] = 0;
    const std::string svg = curvesSvg(curvesOf(values));
    READ_SVG(found, svg);
    ASSERT_EQ(found["points"].size(), 1U);
    EXPECT_LE(found["points"][0], 602);
    EXPECT_HAS(svg, ",388.0 "); // the floor
    EXPECT_HAS(svg, ",52.0 ");  // 1: 7 decades above it, of 7.5
}

TEST(SvgCurves, TwinsAreDashedInTheColourOfTheirRun) {
    StudyResults results = resultsOf("threads = [1, 2]", "twin = \"float64\"");
    ASSERT_EQ(results.runs.size(), 4U);
    results.runs[1].comparison = comparisonOf(Metric::RelativeL2, {0, 1e-6});
    results.runs[3].comparison = comparisonOf(Metric::RelativeL2, {0, 0x1p-29 * 1e-6, 1e305}); // too large once scaled
    const std::string svg = curvesSvg(makeCurves(results, {Metric::RelativeL2, {1, 3}, {wholeModel}}));
    READ_SVG(found, svg);
    EXPECT_EQ(found["outside"], Json::array());
    EXPECT_TRUE(has(found["classes"], "curve twin"));
    EXPECT_FALSE(has(found["classes"], "run3"));
    EXPECT_TRUE(has(found["texts"], "dashed: the run's float64 twin × 2²⁹"));
    // both have 1e-6 at step 10
    EXPECT_HAS(svg, "points=\"112.0,388.0 484.0,");
    EXPECT_EQ(found["points"], Json({3, 2}));
}

TEST(SvgPlots, HostileNamesStayText) {
    const std::string hostile = "<script>alert(1)<script>\" onload=\"x\x01";
    StudyResults results = resultsOf("threads = [1, 2]");
    results.folder.study.name = hostile;
    results.runs[1].config.id = "/" + hostile + ".h5";
    const auto comparison = comparisonOf(Metric::RelativeL2, {0, 1e-6});
    comparison->scopes[1].name = hostile;
    results.runs[1].comparison = comparison;
    HeatmapChoice choice;
    choice.kind = HeatmapKind::LayersByRuns;
    choice.step = 10;
    for (const std::string& svg : {curvesSvg(makeCurves(results, {Metric::RelativeL2, {1}, {wholeModel}})),
                                   heatmapSvg(makeHeatmap(results, choice))}) {
        EXPECT_FALSE(test::contains(svg, "<script"));
        EXPECT_FALSE(test::contains(svg, "\" onload"));
        READ_SVG(found, svg);
        EXPECT_HAS(found["texts"].dump() + found["titles"].dump(), "alert(1)");
    }
}

TEST(SvgHeatmap, CellsBearTheirValuesAndDetails) {
    StudyResults results = resultsOf("threads = [1, 2, 3, 4]");
    results.runs[1].comparison = comparisonOf(Metric::RelativeL2, {0, 1e-6});
    results.runs[2].comparison = comparisonOf(Metric::RelativeL2, {0, 0});
    results.runs[3].state = RunState::Unavailable;
    results.runs[3].message = "no such device";
    HeatmapChoice choice;
    choice.kind = HeatmapKind::LayersByRuns;
    choice.step = 10;
    const std::string svg = heatmapSvg(makeHeatmap(results, choice));
    READ_SVG(found, svg);
    EXPECT_EQ(found["outside"], Json::array());
    for (const char* text : {"whole model", "fc1", "thr 1", "thr 2", "thr 3", "thr 4", "1.00e-06", "2.00e-06", "=", "ref",
                             "bit-identical", "the reference", "unavailable", "relative L2 distance to thr 1"})
        EXPECT_TRUE(has(found["texts"], text)) << text;
    EXPECT_FALSE(has(found["texts"], "nothing recorded"));
    EXPECT_TRUE(has(found["titles"], "thr 2, fc1: 2e-06 at step 10")) << found["titles"];
    EXPECT_TRUE(has(found["titles"], "thr 4, fc1: unavailable: no such device")) << found["titles"];
    // the ends of viridis
    EXPECT_HAS(svg, "fill=\"#440154\"");
    EXPECT_HAS(svg, "fill=\"#fde725\"");
    EXPECT_HAS(svg, "fill=\"url(#hatch)\"");
}

TEST(SvgHeatmap, EmptyAndEqualOnes) {
    READ_SVG(none, heatmapSvg({}));
    EXPECT_EQ(none["outside"], Json::array());
    StudyResults results = resultsOf("threads = [1, 2]");
    const auto comparison = comparisonOf(Metric::RelativeL2, {infinity, 1e-6});
    for (double& value : comparison->values[static_cast<std::size_t>(Metric::RelativeL2)])
        value = std::isfinite(value) ? 1.3e-6 : value;
    results.runs[1].comparison = comparison;
    HeatmapChoice choice;
    choice.kind = HeatmapKind::LayersByRuns;
    for (const std::int64_t step : {0, 10}) { // nothing finite, and one value everywhere
        choice.step = step;
        READ_SVG(found, heatmapSvg(makeHeatmap(results, choice)));
        EXPECT_EQ(found["outside"], Json::array());
        EXPECT_TRUE(has(found["texts"], step == 0 ? "∞ ?" : "1.30e-06"));
    }
}

TEST(SvgPlots, EveryRunHasAColourInBothThemes) {
    const std::string style = plotStyle();
    EXPECT_EQ(runClass(0), "run0");
    EXPECT_EQ(runClass(24), runClass(0));
    for (std::size_t run = 0; run < 24; ++run) {
        const std::string property = "--" + runClass(run) + ":#";
        EXPECT_NE(style.find(property), style.rfind(property)) << run; // light and dark
        EXPECT_HAS(style, "." + runClass(run) + "{color:var(--" + runClass(run) + ")}");
    }
    EXPECT_HAS(style, "--run1:#0072b2;"); // Okabe–Ito's blue
    EXPECT_HAS(style, "prefers-color-scheme:dark");
}

} // namespace
} // namespace driftscope
