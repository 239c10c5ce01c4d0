// SPDX-License-Identifier: GPL-3.0-or-later
#include "Options.h"

#include "ViewExport.h"

#include "analysis/Metric.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace driftscope {
namespace {

constexpr int smallestSide = 200;
constexpr int largestSide = 16384;

QSize parseSize(const std::string& text) {
    int width = 0;
    int height = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2 ||
        std::min(width, height) < smallestSide || std::max(width, height) > largestSide)
        throw CLI::ValidationError(
            "--size", text + ": expected WIDTHxHEIGHT, each " + std::to_string(smallestSide) +
                          " to " + std::to_string(largestSide) + ", such as 1280x720");
    return {width, height};
}

void checkTogether(const Options& options) {
    if (!options.run.empty() && !options.files.empty())
        throw CLI::ValidationError("--run", "runs a study of its own; leave out the files");
    if (!options.output.empty() && options.run.empty())
        throw CLI::ValidationError("-o", "says where --run writes; give --run too");
    if (!options.exportFile.empty() && !options.run.empty())
        throw CLI::ValidationError("--export",
                                   "does not run a study; use driftscope-cli run first");
    if (!options.exportFile.empty() && options.files.empty())
        throw CLI::ValidationError("--export", "needs a study folder or run files to export from");
    if (!options.exportFile.empty() && options.view != "curves" && options.view != "heatmap")
        throw CLI::ValidationError("--export", "writes curves or heatmap; the window exports any view");
}

} // namespace

std::variant<Options, int> parseOptions(int argc, const char* const* argv) {
    Options options;
    std::string size;
    std::vector<std::string> metricKeys;
    for (const MetricInfo& info : metrics())
        metricKeys.emplace_back(info.key);

    CLI::App app("Shows where training runs that should be identical part.", "driftscope");
    app.set_version_flag("--version", "driftscope " DRIFTSCOPE_VERSION);
    app.add_option(
        "FILE", options.files,
        "A study folder, a study.toml, or run files (.h5); the first of several is the reference");
    app.add_option("--run", options.run, "Run this study at once: a path or a built-in name");
    app.add_option("-o,--output", options.output, "Folder for --run; the study's name by default");
    app.add_option("--view", options.view, "View to begin with; --export: curves or heatmap")
        ->check(CLI::IsMember({"curves", "heatmap", "ulp", "distributions", "loss", "attribution"}))
        ->capture_default_str();
    const std::string exporting = "Export without a window";
    app.add_option("--export", options.exportFile,
                   "Write this file (.png, .svg, .pdf or .csv) and open no window")
        ->group(exporting);
    app.add_option("--metric", options.metric, "Quantity to show")
        ->check(CLI::IsMember(metricKeys))
        ->capture_default_str()
        ->group(exporting);
    app.add_option("--scope", options.scope,
                   "model, layers, tensors, or the name of a layer or tensor")
        ->group(exporting);
    app.add_option("--kind", options.kind, "Kind of heatmap: layers-steps, layers-runs or settings")
        ->check(CLI::IsMember({"layers-steps", "layers-runs", "settings"}))
        ->capture_default_str()
        ->group(exporting);
    app.add_option("--run-id", options.runId, "Only this run; runs/<id>.h5 has its id")
        ->group(exporting);
    app.add_option("--step", options.step, "Step of a heatmap; the last one by default")
        ->check(CLI::NonNegativeNumber)
        ->group(exporting);
    app.add_option("--size", size, "Pixels of the picture")
        ->default_str("1280x720")
        ->group(exporting);
    try {
        app.parse(argc, argv);
        options.size = size.empty() ? exportSize : parseSize(size);
        checkTogether(options);
        if (!options.exportFile.empty())
            exportFormat(options.exportFile);
    } catch (const CLI::Success& done) {
        return app.exit(done);
    } catch (const std::exception& error) {
        std::cerr << "driftscope: " << error.what() << '\n';
        return 2;
    }
    return options;
}

} // namespace driftscope
