// SPDX-License-Identifier: GPL-3.0-or-later
// Plots as SVG text, for pages. Written by hand: of what Debian has, everything that writes plots as SVG from C++ brings
// a toolkit along (Qt, Cairo with GTK, VTK), and core has none.
#pragma once

#include "analysis/ViewData.h"

#include <cstddef>
#include <string>

namespace driftscope {

/// Custom properties and rules that both plots need in a <style> of their page; dark where the reader's system is.
/// --background, --text, --muted, --grid, --axis and --accent are for the rest of the page too.
std::string plotStyle();

/// The class of what is drawn in a run's colour: Okabe–Ito, in three lightnesses, as in the window.
std::string runClass(std::size_t run);

/// Curves on a log axis above a labelled floor line for what is bit-identical; twins dashed.
std::string curvesSvg(const CurveView& view);

/// The first panel as cells, each with its details for hovering, and the colour scale below.
std::string heatmapSvg(const HeatmapView& view);

} // namespace driftscope
