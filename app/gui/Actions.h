// SPDX-License-Identifier: GPL-3.0-or-later
// Every action of the window: object name, shortcut, tooltip. What they do is connected by the
// window.
#pragma once

#include <vector>

class QAction;
class QActionGroup;
class QMainWindow;
class QMenu;
class QObject;

namespace driftscope {

struct Theme;
class ViewPage;

struct Actions {
    explicit Actions(QObject* parent);

    void setTheme(const Theme& theme);
    /// One action for each view; before addMenus.
    void addViews(const std::vector<ViewPage*>& pages);
    /// Adds the menus; `recent` is filled by the window.
    void addMenus(QMainWindow& window, QMenu*& recent, QMenu*& view);

    QAction *newStudy, *openFolder, *openFiles, *showStart, *exportView, *quit;
    QAction *run, *stop, *useAsReference, *onlyThisRun, *allRuns, *filterRuns;
    std::vector<QAction*> views; ///< each shows one, in the order of the tabs
    QAction *resetViews, *resetZoom, *logAxis;
    QAction *twinCurves; ///< scaled, beside their runs; enabled by the page of curves
    QAction *twinRuns;   ///< as rows of their own in the tree
    QAction *firstStep, *previousStep, *nextStep, *lastStep;
    QAction *focusReference, *focusMetric;
    std::vector<QAction*> scopes; ///< model, layers, tensors
    std::vector<QAction*> kinds;  ///< of heatmaps, in the order of HeatmapKind
    std::vector<QAction*> themes; ///< system, light, dark
    QAction *commandPalette, *shortcuts, *about;
};

} // namespace driftscope
