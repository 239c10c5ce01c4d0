// SPDX-License-Identifier: GPL-3.0-or-later
#include "HeadlessExport.h"

#include "StudyInput.h"
#include "ViewDefaults.h"
#include "ViewExport.h"

#include "analysis/Twins.h"
#include "execution/RunManager.h"

#include <QApplication>
#include <QFile>
#include <QTemporaryDir>

#include <algorithm>
#include <iostream>
#include <map>

namespace driftscope {
namespace {

std::size_t findRun(const StudyResults& results, const std::string& id) {
    std::string known;
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const std::string& candidate = results.runs[i].config.id;
        if (candidate == id ||
            (results.folder.path.empty() && std::filesystem::path(candidate).stem() == id))
            return i;
        known += (known.empty() ? "" : ", ") + candidate;
    }
    throw ExportError("--run-id " + id + ": no such run; runs: " + known);
}

std::vector<Scope> findScopes(const StudyResults& results, const std::string& wanted) {
    static const std::map<std::string, ScopeKind> kinds{
        {"model", ScopeKind::Model}, {"layers", ScopeKind::Layer}, {"tensors", ScopeKind::Tensor}};
    std::vector<Scope> scopes = commonScopes(results);
    std::string known;
    for (const Scope& scope : scopes)
        if (scope.kind != ScopeKind::Model)
            known += (known.empty() ? "" : ", ") + scope.name;
    const auto kind = kinds.find(wanted);
    std::erase_if(scopes, [&](const Scope& scope) {
        return kind != kinds.end() ? scope.kind != kind->second
                                   : scope.name != wanted || scope.kind == ScopeKind::Model;
    });
    if (scopes.empty())
        throw ExportError("--scope " + wanted +
                          ": no such layer or tensor; allowed: model, layers, tensors, " + known);
    // A layer and its only tensor may share a name: one curve is enough.
    if (kind == kinds.end())
        scopes.resize(1);
    return scopes;
}

CurveView curvesFor(const StudyResults& results, const Options& options) {
    CurveChoice choice;
    choice.metric = *findMetric(options.metric);
    choice.scopes = findScopes(results, options.scope.empty() ? "model" : options.scope);
    choice.withTwins = true;
    if (options.runId.empty()) {
        for (std::size_t run = 0; run < results.runs.size(); ++run)
            if (!isBesideItsRun(results, run))
                choice.runs.push_back(run);
    } else {
        choice.runs = {findRun(results, options.runId)};
    }
    CurveView view = makeCurves(results, choice);
    if (view.curves.empty())
        throw ExportError("there are no curves: the reference is not compared with itself");
    return view;
}

HeatmapView heatmapFor(const StudyResults& results, const Options& options) {
    HeatmapChoice choice;
    choice.metric = *findMetric(options.metric);
    choice.kind = options.kind == "layers-steps"  ? HeatmapKind::LayersBySteps
                  : options.kind == "layers-runs" ? HeatmapKind::LayersByRuns
                                                  : HeatmapKind::SettingsBySettings;
    choice.step = options.step.value_or(lastStep(results));
    choice.perTensor = options.scope == "tensors";
    choice.maxColumns = static_cast<std::size_t>(options.size.width());
    if (choice.kind == HeatmapKind::SettingsBySettings) {
        choice.scope = findScopes(results, options.scope.empty() ? "model" : options.scope).front();
        chooseAxes(results, choice);
        if (choice.rowAxis.empty())
            throw ExportError("--kind settings: the study has no axis with several values");
    }
    choice.run = options.runId.empty() ? mostDivergentRun(results, choice.metric).value_or(0)
                                       : findRun(results, options.runId);
    if (choice.kind == HeatmapKind::LayersBySteps && !results.runs[choice.run].comparison)
        throw ExportError(results.runs[choice.run].config.id +
                          ": the reference is not compared with itself");
    return makeHeatmap(results, choice);
}

template <class View>
void writeView(const View& view, const Options& options, int argc, char** argv) {
    const ExportFormat format = exportFormat(options.exportFile);
    const QTemporaryDir runtime; // Qt would warn of its own choice, where there is none
    std::optional<QApplication> application;
    if (format != ExportFormat::Csv) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        if (!qEnvironmentVariableIsSet("XDG_RUNTIME_DIR"))
            qputenv("XDG_RUNTIME_DIR", QFile::encodeName(runtime.path()));
        application.emplace(argc, argv);
    }
    writeWhole(options.exportFile, exported(view, format, options.size));
}

} // namespace

int exportHeadless(const Options& options, int argc, char** argv) {
    try {
        LiveResults live = openLive(classify(options.files));
        live.update(availableCores());
        const StudyResults& results = live.results();
        if (std::ranges::none_of(results.runs,
                                 [](const RunResult& run) { return run.comparison != nullptr; }))
            throw ExportError(options.files.front().string() +
                              ": nothing to show: it takes a reference and another run, both with "
                              "recorded steps");
        if (options.view == "curves")
            writeView(curvesFor(results, options), options, argc, argv);
        else
            writeView(heatmapFor(results, options), options, argc, argv);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "driftscope: " << error.what() << '\n';
        return 2;
    }
}

} // namespace driftscope
