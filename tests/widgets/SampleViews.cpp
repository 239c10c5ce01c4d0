// SPDX-License-Identifier: GPL-3.0-or-later
#include "SampleViews.h"

#include <cmath>

namespace driftscope::test {
namespace {

std::shared_ptr<const RunComparison> comparison(double difference) {
    RunComparison result;
    result.steps = {0, 1, 2};
    result.scopes = {
        {ScopeKind::Model, ""}, {ScopeKind::Layer, "fc1"}, {ScopeKind::Tensor, "fc1.weight"}};
    for (std::size_t metric = 0; metric < metricCount; ++metric)
        for (const double factor : {0.0, 1.0, 2.0})
            result.values[metric].insert(result.values[metric].end(), 3, factor * difference);
    result.ulpHistograms.resize(3);
    if (difference != 0)
        result.first = {1, "gradient", "fc1.weight", 0};
    return std::make_shared<const RunComparison>(std::move(result));
}

} // namespace

std::shared_ptr<StudyResults> sampleResults() {
    auto results = std::make_shared<StudyResults>();
    StudyFolder& folder = results->folder;
    folder.path = "/nowhere/sample";
    folder.study = parseStudy(
        "[study]\nname = \"sample\"\n[data]\nkind = \"synthetic\"\nshape = [1, 2, 2]\n"
        "[train]\nsteps = 2\nbatch = 2\n[axes]\naccumulation = [1, 2]\nthreads = [1, 2]\n",
        "/sample.toml");
    folder.runs = expand(folder.study);
    for (std::size_t i = 0; i < folder.runs.size(); ++i) {
        RunResult run;
        run.config = folder.runs[i];
        run.reference = folder.referenceOf(i);
        run.totalRows = 3;
        if (i == 3) {
            run.state = RunState::Failed;
            run.message = "out of memory";
        } else {
            run.state = RunState::Finished;
            run.rows = 3;
            run.steps = {0, 1, 2};
            run.scalars[Loss] = {std::nan(""), 2.3, 2.2};
            if (i > 0)
                run.comparison = comparison(i == 2 ? 3e-7 : 0);
        }
        results->runs.push_back(std::move(run));
    }
    return results;
}

std::shared_ptr<StudyResults> sampleResultsWithTwins() {
    auto results = sampleResults();
    const std::size_t count = results->runs.size();
    for (std::size_t i = 0; i < count; ++i) {
        RunResult twin = results->runs[i];
        twin.config.id += "~float64";
        twin.config.isTwin = true;
        if (twin.reference)
            twin.reference = *twin.reference + count;
        if (twin.comparison)
            twin.comparison = comparison(i == 2 ? 6e-16 : 0);
        results->folder.runs.push_back(twin.config);
        results->runs.push_back(std::move(twin));
    }
    return results;
}

Verdict sampleVerdict() {
    return {.kind = "rounding",
            .summary = "The sums are added in <another> order. Use the canonical accumulator.",
            .evidence = {{.name = "twins",
                          .text = "in float64 the difference shrinks",
                          .says = "rounding",
                          .value = 1.86e-9,
                          .threshold = 9.54e-7},
                         {.name = "samples", .text = "every update saw the same samples", .says = ""}}};
}

CurveView sampleCurves() {
    CurveView view;
    view.title = "sample";
    view.xTitle = "step";
    view.yTitle = "relative L2 distance to acc 1";
    view.smallest = 1e-7;
    view.largest = 1e-3;
    view.floor = 1e-9;
    Curve curve;
    curve.name = "acc 2";
    curve.run = 1;
    curve.steps = {0, 1, 2, 3, 4};
    curve.values = {0, 1e-7, 0, 1e-3, 0};
    curve.kinds = {PointKind::Identical, PointKind::Value, PointKind::Zero, PointKind::Value,
                   PointKind::Nonfinite};
    curve.firstDivergence = 1;
    view.curves.push_back(std::move(curve));
    return view;
}

HeatmapView sampleHeatmap() {
    HeatmapView view;
    view.title = "sample";
    view.rowTitle = "layer";
    view.columnTitle = "run";
    view.valueTitle = "relative L2 distance to acc 1";
    view.smallest = 1e-7;
    view.largest = 1e-3;
    HeatmapPanel panel;
    panel.rowLabels = {"features.0.long_name_that_must_not_be_cut.weight"};
    panel.columnLabels = {"small",     "large",       "identical", "nonfinite",
                          "reference", "unavailable", "missing"};
    panel.cells = {{CellKind::Value, 1e-7, "small, fc1: 1e-07", 0},
                   {CellKind::Value, 1e-3, "large, fc1: 0.001", 1},
                   {CellKind::Identical, 0, "bit-identical", 2},
                   {CellKind::Nonfinite, 0, "NaN or ±inf on one side", 3},
                   {CellKind::Reference, 0, "the reference", 4},
                   {CellKind::Unavailable, 0, "unavailable: no CUDA <here>", 5},
                   {CellKind::Missing, 0, "", {}}};
    view.panels.push_back(std::move(panel));
    return view;
}

} // namespace driftscope::test
