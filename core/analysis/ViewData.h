// SPDX-License-Identifier: GPL-3.0-or-later
// What the views draw, prepared here so that widgets hold no numerics: finite values only, zeros
// flagged as identical, gaps split, and the same data as CSV.
#pragma once

#include "analysis/StudyResults.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

/// A curve point. Identical points (equal bits) belong on the floor line. Zero: the bits differ but this
/// metric is 0, as with sign_flips; below the axis, not on the floor. Nonfinite (NaN or ±inf on one
/// side) belongs at the top edge.
enum class PointKind : std::uint8_t { Value, Identical, Zero, Nonfinite };

struct Curve {
    std::string name;       ///< for legends: "acc 2 · thr 1" or "acc 2 · thr 1, fc1"
    std::size_t run = 0;    ///< position in StudyResults::runs: decides the colour; a twin has its run's
    bool isTwin = false;    ///< a float64 twin, scaled by 2²⁹ where the metric is a distance
    double scale = 1;       ///< what the metric's values have been multiplied by
    std::size_t style = 0;  ///< position of the scope among those shown: decides the line style
    Scope scope;
    std::vector<double> steps;
    std::vector<double> values;    ///< finite; 0 unless kind is Value
    std::vector<PointKind> kinds;
    std::optional<std::int64_t> firstDivergence; ///< step
};

struct CurveView {
    std::string title;
    std::string xTitle;  ///< "step"
    std::string yTitle;  ///< "relative L2 distance to acc 1 · thr 1"
    bool isLogarithmic = true;
    bool areValues = false; ///< plain values instead of distances: nothing has a floor of equal bits
    std::vector<Curve> curves;
    double smallest = 0; ///< smallest and largest positive finite value; both 0 if there is none
    double largest = 0;
    double lowest = 0;   ///< of plain values: where a linear axis begins
    double floor = 0;    ///< where the bit-identical line belongs on a log axis, below `smallest`
};

struct CurveChoice {
    Metric metric = Metric::RelativeL2;
    std::vector<std::size_t> runs; ///< positions
    std::vector<Scope> scopes;
    bool withTwins = false; ///< behind each run's curves those of its float64 twin, where hasTwinCurves
};
/// Distances of float64 twins are multiplied by 2²⁹, the ratio of the machine epsilons: that of rounding then lies near its
/// run's curve, that of another function far above it.
CurveView makeCurves(const StudyResults& results, const CurveChoice& choice);

/// Sets `floor` by `smallest` and `largest`: half a decade below or more, on a power of ten.
void placeFloor(CurveView& view);

/// Whether withTwins adds anything: some run's twin has been compared, and the metric is a distance. Shares, counts and
/// ULP don't shrink with the machine epsilon.
bool hasTwinCurves(const StudyResults& results, Metric metric);

/// As PointKind; a value of 0 whose bits differ is a Value.
enum class CellKind : std::uint8_t { Value, Identical, Nonfinite, Reference, Unavailable, Missing };

struct HeatmapCell {
    CellKind kind = CellKind::Missing;
    double value = 0;
    std::string detail; ///< for hovering: run, layer, step, value with unit, or the reason
    std::optional<std::size_t> run{}; ///< position of the run that it is about
};

/// One matrix; several panels share the colour scale.
struct HeatmapPanel {
    std::string title; ///< "" for a single one, "cpu_isa avx2" else
    std::vector<std::string> rowLabels;    ///< top to bottom
    std::vector<std::string> columnLabels; ///< left to right
    std::vector<HeatmapCell> cells;        ///< rows × columns
};

struct HeatmapView {
    std::string title;
    std::string rowTitle, columnTitle;
    std::string valueTitle; ///< metric, unit and reference
    bool columnsAreSteps = false; ///< many columns, labels are numbers
    std::vector<HeatmapPanel> panels;
    double smallest = 0; ///< positive finite range over all panels, for a log colour scale; 0 if none
    double largest = 0;
};

enum class HeatmapKind { LayersBySteps, LayersByRuns, SettingsBySettings };

struct HeatmapChoice {
    HeatmapKind kind = HeatmapKind::LayersBySteps;
    Metric metric = Metric::RelativeL2;
    std::size_t run = 0;   ///< LayersBySteps
    std::int64_t step = 0; ///< the others; the last recorded step up to it is shown
    bool perTensor = false; ///< rows are tensors instead of layers
    Scope scope;           ///< SettingsBySettings: what a cell is about
    std::string rowAxis, columnAxis, panelAxis; ///< SettingsBySettings: axis keys; panelAxis may be ""
    std::size_t maxColumns = 2000; ///< steps beyond that are binned, each bin showing its largest value
};
HeatmapView makeHeatmap(const StudyResults& results, const HeatmapChoice& choice);

/// The axes that suit SettingsBySettings: rows, columns, panels of the study, "" where it has too few.
void chooseAxes(const StudyResults& results, HeatmapChoice& choice);

/// Scopes that all compared runs have: the model, its layers, its tensors.
std::vector<Scope> commonScopes(const StudyResults& results);

std::string runTitle(const RunResult& run);     ///< "acc 2 · thr 1", with the file's name where files were opened
std::string scopeTitle(const Scope& scope);     ///< "whole model", "fc1", "fc1.weight"
/// What a run is compared with, "acc 1 · thr 1"; of all runs, which may have one reference per group; "": nothing.
std::string referenceTitle(const StudyResults& results, std::optional<std::size_t> run = {});
/// "relative L2 distance to acc 1 · thr 1 (unit)": of one run or of all, which may have one reference per group.
std::string quantityTitle(const StudyResults& results, Metric metric, std::optional<std::size_t> run = {});

/// A CSV field, quoted where it has to be (RFC 4180).
std::string csvQuoted(const std::string& text);

/// kind: value, identical, zero (bits differ, the metric is 0) or nonfinite. Where a curve is scaled, a last column says
/// by how much each is.
std::string toCsv(const CurveView& view);
std::string toCsv(const HeatmapView& view);

/// Three significant digits: "3.20e-07", "0.125".
std::string shortNumber(double value);

} // namespace driftscope
