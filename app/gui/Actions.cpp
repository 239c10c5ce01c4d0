// SPDX-License-Identifier: GPL-3.0-or-later
#include "Actions.h"

#include "Icons.h"
#include "Theme.h"
#include "ViewPage.h"

#include <QAction>
#include <QActionGroup>
#include <QCoreApplication>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>

namespace driftscope {
namespace {

class Maker {
public:
    explicit Maker(QObject* parent) : m_parent(parent) {}

    QAction* operator()(const char* name, const QString& text, const char* shortcut,
                        const QString& tip, bool isCheckable = false) const {
        auto* action = new QAction(text, m_parent);
        action->setObjectName(QLatin1String(name));
        action->setShortcut(QKeySequence(QLatin1String(shortcut)));
        action->setToolTip(QStringLiteral("%1 (%2)").arg(
            tip, action->shortcut().toString(QKeySequence::NativeText)));
        action->setStatusTip(tip);
        action->setCheckable(isCheckable);
        return action;
    }

    [[nodiscard]] std::vector<QAction*> exclusive(std::vector<QAction*> actions) const {
        auto* group = new QActionGroup(m_parent);
        for (QAction* action : actions)
            group->addAction(action);
        actions.front()->setChecked(true);
        return actions;
    }

private:
    QObject* m_parent;
};

QString tr(const char* text) {
    return QCoreApplication::translate("Actions", text);
}

} // namespace

Actions::Actions(QObject* parent) {
    const Maker make(parent);
    newStudy = make("newStudy", tr("&New study…"), "Ctrl+N",
                    tr("Write a study, from a template or a file, and run it"));
    openFolder = make("openFolder", tr("&Open study…"), "Ctrl+O", tr("Open a study folder"));
    openFiles = make("openFiles", tr("Open run &files…"), "Ctrl+Shift+O",
                     tr("Compare run files: the first is the reference"));
    showStart = make("showStart", tr("&Start page"), "Ctrl+Home", tr("Show the built-in studies"));
    exportView = make("exportView", tr("&Export view…"), "Ctrl+E",
                      tr("Save this view as PNG, SVG, PDF or CSV"));
    quit = make("quit", tr("&Quit"), "Ctrl+Q", tr("Close the window"));

    // Short in the tool bar.
    newStudy->setIconText(tr("New"));
    openFolder->setIconText(tr("Open"));
    exportView->setIconText(tr("Export"));

    run = make("run", tr("&Run"), "Ctrl+R",
               tr("Run what has not finished in this study, or a copy of it in a new folder"));
    stop = make("stop", tr("&Stop"), "Ctrl+.",
                tr("Stop the runs in flight; what they recorded stays"));
    useAsReference = make("useAsReference", tr("Use as &reference"), "Ctrl+Shift+R",
                          tr("Compare all runs with the selected one"));
    onlyThisRun = make("onlyThisRun", tr("Show only &this run"), "Ctrl+T",
                       tr("Show the curves of the selected run only"));
    allRuns =
        make("allRuns", tr("Show &all runs"), "Ctrl+Shift+T", tr("Show the curves of all runs"));
    filterRuns =
        make("filterRuns", tr("&Filter runs"), "Ctrl+F", tr("Type to filter the tree of runs"));

    resetViews = make("resetViews", tr("All views as &tabs"), "Ctrl+Shift+0",
                      tr("Put views that were dragged elsewhere back among the tabs"));
    resetZoom = make("resetZoom", tr("Show e&verything"), "Ctrl+0",
                     tr("Undo zooming and panning; a double click does too"));
    logAxis = make("logAxis", tr("&Logarithmic axis"), "Ctrl+L",
                   tr("Draw divergence on a logarithmic axis"), true);
    logAxis->setChecked(true);
    twinCurves = make("twinCurves", tr("Float64 twins × 2²⁹"), "Ctrl+D",
                      tr("Draw distances of the runs in float64, scaled to float32: rounding lies "
                         "near the run's curve, another function lies far above"),
                      true);
    twinCurves->setChecked(true);
    twinRuns = make("twinRuns", tr("Show t&wins in the tree"), "Ctrl+Shift+D",
                    tr("List the float64 twins among the runs"), true);
    firstStep = make("firstStep", tr("First step"), "Alt+Home", tr("Go to the first step"));
    previousStep = make("previousStep", tr("Previous step"), "Alt+Left", tr("Go back one step"));
    nextStep = make("nextStep", tr("Next step"), "Alt+Right", tr("Go forward one step"));
    lastStep =
        make("lastStep", tr("Last step"), "Alt+End", tr("Go to the last step and follow it"));
    focusReference = make("focusReference", tr("Choose reference"), "Alt+R",
                          tr("Choose the run that others are compared with"));
    focusMetric =
        make("focusMetric", tr("Choose metric"), "Alt+M", tr("Choose the quantity to show"));

    scopes = {make("scopeModel", tr("Model"), "Ctrl+Shift+1",
                   tr("One curve for each run, of all its weights")),
              make("scopeLayers", tr("Layers"), "Ctrl+Shift+2", tr("A curve for each layer")),
              make("scopeTensors", tr("Tensors"), "Ctrl+Shift+3", tr("A curve for each tensor"))};
    kinds = make.exclusive(
        {make("layersBySteps", tr("Layers × steps"), "Ctrl+Shift+4",
              tr("Layers against steps, of one run"), true),
         make("layersByRuns", tr("Layers × runs"), "Ctrl+Shift+5",
              tr("Layers against runs, at one step"), true),
         make("settingsBySettings", tr("Settings × settings"), "Ctrl+Shift+6",
              tr("Two settings against each other, at one step; a third makes panels"), true)});
    themes = make.exclusive(
        {make("themeSystem", tr("As the &system"), "Ctrl+Shift+F1",
              tr("Light or dark as the system"), true),
         make("themeLight", tr("&Light"), "Ctrl+Shift+F2", tr("Light colours"), true),
         make("themeDark", tr("&Dark"), "Ctrl+Shift+F3", tr("Dark colours"), true)});
    commandPalette = make("commandPalette", tr("&Command palette…"), "Ctrl+Shift+P",
                          tr("Find anything that the window can do by a few letters"));
    shortcuts = make("shortcuts", tr("&Keyboard shortcuts"), "F1", tr("All shortcuts, by menu"));
    about = make("about", tr("&About Driftscope"), "Ctrl+F1", tr("Version and licence"));
}

void Actions::setTheme(const Theme& theme) {
    const auto set = [&](QAction* action, const QString& name) {
        action->setIcon(themedIcon(name, theme.text, theme.axis));
    };
    set(newStudy, QStringLiteral("new"));
    set(openFolder, QStringLiteral("open"));
    set(exportView, QStringLiteral("export"));
    set(run, QStringLiteral("run"));
    set(stop, QStringLiteral("stop"));
    for (QAction* view : views)
        set(view, view->data().toString());
}

void Actions::addViews(const std::vector<ViewPage*>& pages) {
    for (ViewPage* page : pages) {
        const ViewPage::Info& info = page->info();
        const auto number = static_cast<int>(views.size()) + 1;
        const QString name =
            QStringLiteral("show") + info.id.at(0).toUpper() + info.id.mid(1);
        const QString keys = number < 10 ? QStringLiteral("Ctrl+%1").arg(number)
                                         : QStringLiteral("Alt+%1").arg(number - 9);
        QAction* action = Maker(page->window())(name.toLatin1(), info.title, keys.toLatin1(), info.tip);
        action->setData(info.icon);
        views.push_back(action);
    }
}

void Actions::addMenus(QMainWindow& window, QMenu*& recent, QMenu*& view) {
    QMenu* file = window.menuBar()->addMenu(tr("&File"));
    file->addActions({newStudy, openFolder, openFiles});
    recent = file->addMenu(tr("Open &recent"));
    file->addActions({showStart, exportView});
    file->addSeparator();
    file->addAction(quit);

    QMenu* study = window.menuBar()->addMenu(tr("&Study"));
    study->addActions({run, stop});
    study->addSeparator();
    study->addActions({useAsReference, onlyThisRun, allRuns, filterRuns});

    view = window.menuBar()->addMenu(tr("&View"));
    for (QAction* action : views)
        view->addAction(action);
    view->addSeparator();
    view->addActions({resetViews, resetZoom, logAxis, twinCurves, twinRuns});
    QMenu* curves = view->addMenu(tr("Curves &of"));
    QMenu* heatmaps = view->addMenu(tr("Heatmap &kind"));
    QMenu* step = view->addMenu(tr("&Step"));
    step->addActions({firstStep, previousStep, nextStep, lastStep});
    view->addSeparator();
    view->addActions({focusReference, focusMetric});
    view->addSeparator();
    QMenu* theme = view->addMenu(tr("&Theme"));
    for (QAction* action : scopes)
        curves->addAction(action);
    for (QAction* action : kinds)
        heatmaps->addAction(action);
    for (QAction* action : themes)
        theme->addAction(action);

    window.menuBar()->addMenu(tr("&Help"))->addActions({commandPalette, shortcuts, about});
}

} // namespace driftscope
