// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ViewData.h"
#include "support/Files.h"
#include "support/HandMadeResults.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

using test::comparisonOf;
using test::resultsOf;
using test::wholeModel;
using Labels = std::vector<std::string>;

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> valuesOf(const HeatmapPanel& panel) {
    std::vector<double> values;
    for (const HeatmapCell& cell : panel.cells) {
        EXPECT_TRUE(std::isfinite(cell.value));
        values.push_back(cell.value);
    }
    return values;
}

std::vector<CellKind> kindsOf(const HeatmapPanel& panel) {
    std::vector<CellKind> kinds;
    for (const HeatmapCell& cell : panel.cells)
        kinds.push_back(cell.kind);
    return kinds;
}

/// Every run but the reference has its position as the value of every row.
StudyResults positions(const std::string& axes, const std::string& studyKeys = "") {
    StudyResults results = resultsOf(axes, studyKeys);
    for (std::size_t i = 0; i < results.runs.size(); ++i)
        if (results.runs[i].reference)
            results.runs[i].comparison =
                comparisonOf(Metric::RelativeL2, {static_cast<double>(i), static_cast<double>(i)});
    return results;
}

TEST(ViewHeatmap, LayersBySteps) {
    StudyResults results = resultsOf("threads = [1, 2]");
    results.runs[1].comparison = comparisonOf(Metric::RelativeL2, {0, 0.25, infinity});
    HeatmapChoice choice;
    choice.run = 1;
    HeatmapView view = makeHeatmap(results, choice);
    EXPECT_HAS(view.title, "thr 2");
    EXPECT_EQ(view.rowTitle, "layer");
    EXPECT_TRUE(view.columnsAreSteps);
    ASSERT_EQ(view.panels.size(), 1U);
    EXPECT_EQ(view.panels[0].rowLabels, (Labels{"whole model", "fc1"}));
    EXPECT_EQ(view.panels[0].columnLabels, (Labels{"0", "10", "20"}));
    EXPECT_EQ(valuesOf(view.panels[0]), (std::vector<double>{0, 0.25, 0, 0, 0.5, 0}));
    EXPECT_EQ(kindsOf(view.panels[0]),
              (std::vector<CellKind>{CellKind::Identical, CellKind::Value, CellKind::Nonfinite,
                                     CellKind::Identical, CellKind::Value, CellKind::Nonfinite}));
    EXPECT_EQ(view.smallest, 0.25);
    EXPECT_EQ(view.largest, 0.5);
    EXPECT_HAS(view.panels[0].cells[4].detail, "fc1, step 10: 0.5");
    EXPECT_HAS(view.panels[0].cells[0].detail, "bit-identical");
    EXPECT_EQ(view.panels[0].cells[4].run, 1U);
    choice.perTensor = true;
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].rowLabels,
              (Labels{"whole model", "fc1.weight"}));
    choice.run = 0; // the reference has nothing to show
    EXPECT_TRUE(makeHeatmap(results, choice).panels[0].cells.empty());
    choice.run = 99;
    EXPECT_TRUE(makeHeatmap(results, choice).panels[0].cells.empty());
}

TEST(ViewHeatmap, BinsKeepTheLargest) {
    std::vector<double> values(1000, 1e-6);
    values[3] = 0;
    values[137] = 0.75;
    values[500] = infinity;
    values[501] = 9;
    values.resize(1001, 0.5); // a last bin of its own
    StudyResults results = resultsOf("threads = [1, 2]");
    results.runs[1].comparison = comparisonOf(Metric::RelativeL2, values);
    for (const std::size_t columns : {101U, 10U, 7U, 1U}) {
        HeatmapChoice choice;
        choice.run = 1;
        choice.maxColumns = columns;
        const HeatmapPanel panel = makeHeatmap(results, choice).panels.at(0);
        const std::size_t width = panel.columnLabels.size();
        EXPECT_LE(width, columns);
        EXPECT_GE(width * 2, columns);
        const std::size_t bin = (1001 + width - 1) / width;
        for (std::size_t c = 0; c < width; ++c) {
            const std::size_t first =
                static_cast<std::size_t>(std::stoul(panel.columnLabels[c])) / 10;
            EXPECT_LE(first, c * bin);
            const std::size_t end =
                c + 1 < width ? static_cast<std::size_t>(std::stoul(panel.columnLabels[c + 1])) / 10
                              : 1001;
            const HeatmapCell& cell = panel.cells[c];
            const double largest =
                *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(first),
                                  values.begin() + static_cast<std::ptrdiff_t>(end));
            EXPECT_EQ(cell.kind, std::isinf(largest) ? CellKind::Nonfinite : CellKind::Value);
            EXPECT_EQ(cell.value, std::isinf(largest) ? 0 : largest);
        }
        if (columns == 101) {
            EXPECT_HAS(panel.cells[13].detail, "step 1370: 0.75");
        }
    }
}

TEST(ViewHeatmap, LayersByRunsShowEveryStateOfARun) {
    StudyResults results = resultsOf("threads = [1, 2, 3, 4, 5]");
    results.runs[1].comparison = comparisonOf(Metric::UlpMax, {0, 3, 7});
    results.runs[2].state = RunState::Unavailable;
    results.runs[2].message = "no CUDA";
    results.runs[3].state = RunState::Failed;
    results.runs[3].message = "out of memory";
    results.runs[4].comparison = comparisonOf(Metric::UlpMax, {0, 0, 0});
    HeatmapChoice choice{.kind = HeatmapKind::LayersByRuns,
                         .metric = Metric::UlpMax,
                         .step = 19,
                         .scope = {},
                         .rowAxis = {},
                         .columnAxis = {},
                         .panelAxis = {}};
    const HeatmapView view = makeHeatmap(results, choice);
    ASSERT_EQ(view.panels.size(), 1U);
    const HeatmapPanel& panel = view.panels[0];
    EXPECT_EQ(panel.columnLabels, (Labels{"thr 1", "thr 2", "thr 3", "thr 4", "thr 5"}));
    EXPECT_EQ(panel.rowLabels, (Labels{"whole model", "fc1"}));
    const std::vector<CellKind> kinds{CellKind::Reference, CellKind::Value, CellKind::Unavailable,
                                      CellKind::Missing, CellKind::Identical};
    EXPECT_EQ(std::vector(panel.cells.begin(), panel.cells.begin() + 5).size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(panel.cells[i].kind, kinds[i]) << i;
        EXPECT_EQ(panel.cells[i].run, i);
    }
    EXPECT_EQ(panel.cells[1].value, 3); // step 10 is the last up to 19
    EXPECT_HAS(panel.cells[1].detail, "thr 2, whole model: 3 ULP at step 10");
    EXPECT_HAS(panel.cells[2].detail, "unavailable: no CUDA");
    EXPECT_HAS(panel.cells[3].detail, "out of memory");
    EXPECT_EQ(panel.cells[6].value, 6); // fc1's
    EXPECT_EQ(view.smallest, 3);
    EXPECT_EQ(view.largest, 6);
}

TEST(ViewHeatmap, BeforeTheFirstStepThereIsNothing) {
    StudyResults results = resultsOf("threads = [1, 2]");
    const auto comparison = comparisonOf(Metric::RelativeL2, {1, 2});
    comparison->steps = {5, 6};
    results.runs[1].comparison = comparison;
    HeatmapChoice choice;
    choice.kind = HeatmapKind::LayersByRuns;
    choice.step = 4;
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].cells[1].kind, CellKind::Missing);
    choice.step = 5;
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].cells[1].value, 1);
    choice.step = 1000;
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].cells[1].value, 2);
}

TEST(ViewHeatmap, SettingsBySettingsWithAPanelPerValueOfTheThirdAxis) {
    const StudyResults results =
        positions("accumulation = [1, 2]\nthreads = [1, 2, 3]\ncpu_isa = [\"native\", \"avx2\"]");
    HeatmapChoice choice{.kind = HeatmapKind::SettingsBySettings,
                         .step = 10,
                         .scope = wholeModel,
                         .rowAxis = "accumulation",
                         .columnAxis = "threads",
                         .panelAxis = "cpu_isa"};
    const HeatmapView view = makeHeatmap(results, choice);
    EXPECT_EQ(view.rowTitle, "accumulation");
    EXPECT_EQ(view.columnTitle, "threads");
    ASSERT_EQ(view.panels.size(), 2U);
    EXPECT_EQ(view.panels[0].title, "cpu isa native");
    EXPECT_EQ(view.panels[1].title, "cpu isa avx2");
    EXPECT_EQ(view.panels[0].rowLabels, (Labels{"1", "2"}));
    EXPECT_EQ(view.panels[0].columnLabels, (Labels{"1", "2", "3"}));
    // run number: accumulation slowest, cpu_isa fastest
    EXPECT_EQ(valuesOf(view.panels[0]), (std::vector<double>{0, 2, 4, 6, 8, 10}));
    EXPECT_EQ(valuesOf(view.panels[1]), (std::vector<double>{1, 3, 5, 7, 9, 11}));
    EXPECT_EQ(view.panels[0].cells[0].kind, CellKind::Reference);
    EXPECT_EQ(view.panels[1].cells[5].run, 11U);
    EXPECT_EQ(view.smallest, 1); // over all panels
    EXPECT_EQ(view.largest, 11);
}

TEST(ViewHeatmap, AxesThatAreNotShownStayAtTheReference) {
    const StudyResults results =
        positions("accumulation = [1, 2]\nthreads = [1, 2]\ncpu_isa = [\"native\", \"avx2\"]\nseed "
                  "= [5, 6, 7]",
                  "reference = { accumulation = 1, threads = 2, cpu_isa = \"native\", seed = 6 }");
    HeatmapChoice choice{.kind = HeatmapKind::SettingsBySettings,
                         .step = 0,
                         .scope = wholeModel,
                         .rowAxis = "accumulation",
                         .columnAxis = "threads",
                         .panelAxis = "cpu_isa"};
    const HeatmapView view = makeHeatmap(results, choice);
    const auto number = [](int accumulation, int threads, int isa) {
        return static_cast<double>(((accumulation * 2 + threads) * 2 + isa) * 3 +
                                   1); // seed 6 is the second of three
    };
    EXPECT_EQ(valuesOf(view.panels[1]), (std::vector<double>{number(0, 0, 1), number(0, 1, 1),
                                                             number(1, 0, 1), number(1, 1, 1)}));
    EXPECT_EQ(view.panels[0].cells[1].kind, CellKind::Reference);
    choice.panelAxis = "";
    choice.columnAxis = "seed";
    const HeatmapView seeds = makeHeatmap(results, choice);
    ASSERT_EQ(seeds.panels.size(), 1U);
    EXPECT_EQ(seeds.panels[0].title, "");
    EXPECT_EQ(valuesOf(seeds.panels[0])[3], number(1, 1, 0) - 1);
}

TEST(ViewHeatmap, TwinsAndMissingRunsDoNotStandInForOthers) {
    StudyResults results =
        positions("accumulation = [1, 2]\nthreads = [1, 2]", "twin = \"float64\"");
    HeatmapChoice choice{.kind = HeatmapKind::SettingsBySettings,
                         .step = 0,
                         .scope = wholeModel,
                         .rowAxis = "accumulation",
                         .columnAxis = "threads",
                         .panelAxis = ""};
    EXPECT_EQ(valuesOf(makeHeatmap(results, choice).panels[0]), (std::vector<double>{0, 1, 2, 3}));
    results.runs.erase(results.runs.begin() + 2);
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].cells[2].kind, CellKind::Missing);
    choice.rowAxis = choice.columnAxis = "no_such_axis";
    EXPECT_EQ(makeHeatmap(results, choice).panels[0].cells.size(), 1U);
}

TEST(ViewHeatmap, ChoosesTheAxesThatPeopleAskAbout) {
    const auto chosen = [](const char* axes) {
        HeatmapChoice choice;
        chooseAxes(resultsOf(axes), choice);
        return Labels{choice.rowAxis, choice.columnAxis, choice.panelAxis};
    };
    EXPECT_EQ(chosen("repeat = 2\nseed = [1, 2]\nthreads = [1, 2]\naccumulation = [1, 2]"),
              (Labels{"accumulation", "threads", "seed"}));
    EXPECT_EQ(chosen("repeat = 2\nthreads = [1, 2]"), (Labels{"threads", "repeat", ""}));
    EXPECT_EQ(chosen("threads = [1, 2]\nseed = [1]"),
              (Labels{"threads", "", ""})); // one value is no axis to draw
    EXPECT_EQ(chosen(""), (Labels{"", "", ""}));
}

TEST(ViewHeatmap, AsCsv) {
    StudyResults results = resultsOf("accumulation = [1, 2]\nthreads = [1, 2]");
    results.runs[1].comparison = comparisonOf(Metric::UlpMax, {0});
    results.runs[2].comparison = comparisonOf(Metric::UlpMax, {infinity});
    results.runs[3].comparison = comparisonOf(Metric::UlpMax, {0.1 + 0.2});
    HeatmapChoice choice{.kind = HeatmapKind::SettingsBySettings,
                         .metric = Metric::UlpMax,
                         .step = 0,
                         .scope = wholeModel,
                         .rowAxis = "accumulation",
                         .columnAxis = "threads",
                         .panelAxis = ""};
    EXPECT_EQ(toCsv(makeHeatmap(results, choice)),
              "panel,accumulation,threads,largest ULP distance to acc 1 · thr 1 (ULP),kind\n"
              ",1,1,,reference\n"
              ",1,2,0,identical\n"
              ",2,1,inf,nonfinite\n"
              ",2,2,0.30000000000000004,value\n");
}

} // namespace
} // namespace driftscope
