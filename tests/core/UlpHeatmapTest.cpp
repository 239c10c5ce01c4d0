// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/UlpHeatmap.h"

#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

/// fc1.weight[0] of run 1 is 1, then 1 + 2⁻²³ (1 ULP), then 1 + 2⁻²² (2 ULP); all else is equal.
StudyResults recorded(const test::TemporaryFolder& folder) {
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]");
    test::writeRun(study.runFile(study.runs[0]), test::tinyRun(study.runs[0], 0));
    test::writeRun(study.runFile(study.runs[1]), test::tinyRun(study.runs[1], 0x1p-23));
    return loadResults(study);
}

std::vector<double> values(const HeatmapPanel& panel) {
    std::vector<double> all;
    for (const HeatmapCell& cell : panel.cells)
        all.push_back(cell.kind == CellKind::Value ? cell.value : 0);
    return all;
}

TEST(UlpHeatmap, OfTheModelAndOfALayer) {
    const test::TemporaryFolder folder;
    const StudyResults results = recorded(folder);
    const HeatmapView model = makeUlpHeatmap(results, {.run = 1});
    ASSERT_EQ(model.panels.size(), 1U);
    const HeatmapPanel& panel = model.panels[0];
    EXPECT_EQ(panel.rowLabels, (std::vector<std::string>{"2 – 3", "1", "0 (equal)"}));
    EXPECT_EQ(panel.columnLabels, (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_EQ(values(panel), (std::vector<double>{0, 0, 1.0 / 3, 0, 1.0 / 3, 0, 1, 2.0 / 3, 2.0 / 3}));
    EXPECT_EQ(model.smallest, 1.0 / 3);
    EXPECT_EQ(model.largest, 1);

    const HeatmapView layer = makeUlpHeatmap(results, {.run = 1, .scope = {ScopeKind::Layer, "fc1"}});
    EXPECT_EQ(values(layer.panels[0]), (std::vector<double>{0, 0, 0.5, 0, 0.5, 0, 1, 0.5, 0.5}));
    const HeatmapView tensor = makeUlpHeatmap(results, {.run = 1, .scope = {ScopeKind::Tensor, "out.bias"}});
    EXPECT_EQ(values(tensor.panels[0]), (std::vector<double>{1, 1, 1}));
}

// Of equal tensors a digest tells all, of the others nothing: no share can be told.
TEST(UlpHeatmap, WhatIsNotKeptIsNotSaidToBeEqual) {
    const test::TemporaryFolder folder;
    const StudyFolder study = test::tinyStudy(folder / "s", "threads = [1, 2]\n[record]\nweights = \"digest\"");
    test::writeRun(study.runFile(study.runs[0]), test::tinyRun(study.runs[0], 0));
    test::writeRun(study.runFile(study.runs[1]), test::tinyRun(study.runs[1], 1));
    const StudyResults results = loadResults(study);
    const HeatmapPanel panel = makeUlpHeatmap(results, {.run = 1}).panels[0];
    ASSERT_EQ(panel.cells.size(), 3U);
    EXPECT_EQ(panel.cells[0].value, 1) << "step 0 is equal";
    EXPECT_EQ(panel.cells[1].kind, CellKind::Nonfinite);
    EXPECT_EQ(panel.cells[2].kind, CellKind::Nonfinite);
    EXPECT_THROW(makeUlpHeatmap(results, {.run = 1, .scope = {ScopeKind::Layer, "fc1"}}), RecordingError);
}

TEST(UlpHeatmap, ThinnedStepsKeepTheLast) {
    const test::TemporaryFolder folder;
    const StudyResults results = recorded(folder);
    EXPECT_EQ(makeUlpHeatmap(results, {.run = 1, .mostColumns = 2}).panels[0].columnLabels,
              (std::vector<std::string>{"0", "2"}));
    EXPECT_EQ(makeUlpHeatmap(results, {.run = 1, .mostColumns = 1}).panels[0].columnLabels,
              std::vector<std::string>{"2"});
    EXPECT_TRUE(makeUlpHeatmap(results, {.run = 0}).panels[0].cells.empty());
}

} // namespace
} // namespace driftscope
