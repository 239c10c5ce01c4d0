// SPDX-License-Identifier: GPL-3.0-or-later
// How the window is built and wired: its parts are in MainWindow.cpp.
#include "MainWindow.h"

#include "CommandPalette.h"
#include "Commands.h"

#include "Icons.h"
#include "MessageBar.h"
#include "NewStudyDialog.h"
#include "PlotWidget.h"
#include "RunDetails.h"
#include "RunsPanel.h"
#include "RunText.h"
#include "ShortcutSheet.h"
#include "StartPage.h"
#include "ViewArea.h"
#include "Views.h"

#include "analysis/Twins.h"
#include "recording/Version.h"

#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QEvent>
#include <QFileDialog>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QSlider>
#include <QStackedWidget>
#include <QStyle>
#include <QToolBar>
#include <QVBoxLayout>

#include <algorithm>

namespace driftscope {
namespace {

QString text(std::string_view string) {
    return QString::fromUtf8(string.data(), static_cast<qsizetype>(string.size()));
}

std::vector<StartPage::Study> startStudies() {
    std::vector<StartPage::Study> studies;
    for (const BuiltInStudy& builtIn : builtInStudies()) {
        const Study study = loadStudy(std::string(builtIn.name));
        const auto runs = std::ranges::count(expand(study), false, &RunConfig::isTwin);
        studies.push_back({text(study.name), text(study.description),
                           runCount(static_cast<std::size_t>(runs))});
    }
    // The quickest first.
    std::ranges::stable_partition(
        studies, [](const auto& study) { return study.name == QLatin1String("quickstart"); });
    return studies;
}

} // namespace

void MainWindow::buildCentre() {
    m_message = new MessageBar(this);
    m_start = new StartPage(startStudies(), this);
    m_views = new ViewArea(makeViews(m_selection, m_actions, this), this);
    m_centre = new QStackedWidget(this);
    m_centre->addWidget(m_start);
    m_centre->addWidget(m_views);

    for (ViewPage* page : m_views->pages()) {
        for (PlotWidget* plot : page->plots())
            plot->addActions({m_actions.exportView, m_actions.resetZoom});
        connect(page, &ViewPage::viewRequested, this, &MainWindow::showView);
        connect(page, &ViewPage::problem, this, [this](const QString& what) {
            m_message->showMessage(MessageBar::Kind::Error, what);
        });
    }

    auto* column = new QWidget(this);
    auto* layout = new QVBoxLayout(column);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_message);
    layout->addWidget(m_centre, 1);
    setCentralWidget(column);

    connect(m_start, &StartPage::runRequested, this, &MainWindow::runBuiltIn);
    connect(m_start, &StartPage::editRequested, this, &MainWindow::editBuiltIn);
    connect(m_start, &StartPage::openRequested, this,
            [this](const QString& path) { openPaths({path}); });
}

void MainWindow::addToggle(QAction* toggle, const QString& name, const char* shortcut) {
    toggle->setObjectName(name + QStringLiteral("Toggle"));
    toggle->setShortcut(QKeySequence(QLatin1String(shortcut)));
    toggle->setToolTip(tr("Show or hide: %1").arg(toggle->text()));
    m_viewMenu->addAction(toggle);
}

void MainWindow::buildDocks() {
    m_runs = new RunsPanel(this);
    m_runs->setMinimumWidth(300);
    m_details = new RunDetails(this);
    m_details->setObjectName(QStringLiteral("runDetails"));
    m_details->setAccessibleName(tr("The selected run"));
    const auto add = [this](const char* name, const QString& title, QWidget* widget,
                            const char* shortcut) {
        auto* dock = new QDockWidget(title, this);
        dock->setObjectName(QLatin1String(name));
        dock->setWidget(widget);
        addDockWidget(Qt::LeftDockWidgetArea, dock);
        addToggle(dock->toggleViewAction(), dock->objectName(), shortcut);
        dock->hide(); // until there is a study
        return dock;
    };
    m_runsDock = add("runsDock", tr("Runs"), m_runs, "Ctrl+Shift+8");
    m_detailsDock = add("detailsDock", tr("Selected run"), m_details, "Ctrl+Shift+9");
    for (QAction* action : {m_actions.useAsReference, m_actions.onlyThisRun, m_actions.allRuns})
        m_runs->addMenuAction(action);
}

void MainWindow::showDocks() {
    const bool isFirst = m_settings.state.isEmpty();
    m_runsDock->show();
    m_detailsDock->show();
    if (isFirst) {
        resizeDocks({m_runsDock, m_detailsDock}, {480, 480}, Qt::Horizontal);
        resizeDocks({m_runsDock, m_detailsDock}, {290, 280}, Qt::Vertical);
    }
}

void MainWindow::buildToolBar() {
    QToolBar* bar = addToolBar(tr("Tool bar"));
    bar->setObjectName(QStringLiteral("toolBar"));
    addToggle(bar->toggleViewAction(), bar->objectName(), "Ctrl+Shift+7");
    bar->setMovable(false);
    bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    bar->addActions({m_actions.newStudy, m_actions.openFolder, m_actions.run, m_actions.stop});
    bar->addSeparator();
    const auto label = [bar](const QString& caption, QWidget* buddy) {
        auto* widget = new QLabel(caption, bar);
        widget->setBuddy(buddy);
        widget->setContentsMargins(8, 0, 4, 0);
        bar->addWidget(widget);
        bar->addWidget(buddy);
    };
    m_reference = new QComboBox(bar);
    m_reference->setObjectName(QStringLiteral("reference"));
    m_reference->setAccessibleName(tr("Reference"));
    m_reference->setToolTip(tr("The run that the others are compared with"));
    m_reference->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_reference->setMinimumContentsLength(12);
    m_reference->setMaximumWidth(260);
    label(tr("Reference"), m_reference);
    m_metrics = new QComboBox(bar);
    m_metrics->setObjectName(QStringLiteral("metric"));
    m_metrics->setAccessibleName(tr("Metric"));
    for (const MetricInfo& info : metrics()) {
        m_metrics->addItem(text(info.title));
        m_metrics->setItemData(m_metrics->count() - 1, text(info.help), Qt::ToolTipRole);
        if (info.metric == m_metric)
            m_metrics->setCurrentIndex(m_metrics->count() - 1);
    }
    label(tr("Metric"), m_metrics);
    m_stepSlider = new QSlider(Qt::Horizontal, bar);
    m_stepSlider->setObjectName(QStringLiteral("stepSlider"));
    m_stepSlider->setAccessibleName(tr("Step"));
    m_stepSlider->setToolTip(tr("The step that is marked in curves and shown in heatmaps"));
    m_stepSlider->setMinimumWidth(100);
    m_stepSlider->setEnabled(false);
    label(tr("Step"), m_stepSlider);
    m_stepLabel = new QLabel(QStringLiteral("0"), bar);
    m_stepLabel->setMinimumWidth(
        m_stepLabel->fontMetrics().horizontalAdvance(QStringLiteral("000000")));
    bar->addWidget(m_stepLabel);
    bar->addSeparator();
    bar->addAction(m_actions.exportView);
}

void MainWindow::connectActions() {
    const auto on = [this](QAction* action, auto call) {
        connect(action, &QAction::triggered, this, call);
    };
    on(m_actions.newStudy, [this] { editBuiltIn(QString()); });
    on(m_actions.openFolder, [this] { chooseOpen(true); });
    on(m_actions.openFiles, [this] { chooseOpen(false); });
    on(m_actions.showStart, [this] { m_centre->setCurrentWidget(m_start); });
    on(m_actions.exportView, &MainWindow::chooseExportFile);
    on(m_actions.quit, &QWidget::close);
    on(m_actions.run, &MainWindow::runAgain);
    on(m_actions.stop, [this] { m_session->stop(); });
    on(m_actions.useAsReference, [this] {
        if (m_selection.run())
            m_session->setReference(*m_selection.run());
    });
    on(m_actions.onlyThisRun, [this] {
        if (m_selection.run())
            m_runs->model().setCheckedRuns({*m_selection.run()});
    });
    on(m_actions.allRuns, [this] { m_runs->model().checkAll(); });
    on(m_actions.filterRuns, [this] { m_runs->focusFilter(); });
    for (std::size_t i = 0; i < m_actions.views.size(); ++i)
        on(m_actions.views[i],
           [this, id = m_views->pages()[i]->info().id] { showView(id); });
    on(m_actions.resetViews, [this] { m_views->resetLayout(); });
    on(m_actions.resetZoom, [this] {
        for (PlotWidget* plot : m_views->current()->plots())
            plot->resetZoom();
    });
    on(m_actions.twinRuns, &MainWindow::showTwinRuns);
    on(m_actions.firstStep, [this] { m_stepSlider->setValue(0); });
    on(m_actions.previousStep, [this] { moveStep(-1); });
    on(m_actions.nextStep, [this] { moveStep(1); });
    on(m_actions.lastStep, [this] { m_stepSlider->setValue(m_stepSlider->maximum()); });
    on(m_actions.focusReference, [this] { m_reference->setFocus(Qt::ShortcutFocusReason); });
    on(m_actions.focusMetric, [this] { m_metrics->setFocus(Qt::ShortcutFocusReason); });
    for (std::size_t i = 0; i < m_actions.themes.size(); ++i)
        on(m_actions.themes[i],
           [this, choice = static_cast<WindowSettings::ThemeChoice>(i)] { chooseTheme(choice); });
    on(m_actions.commandPalette, [this] { showPalette(); });
    on(m_actions.shortcuts, [this] {
        auto* sheet = new ShortcutSheet(commandsOf(*menuBar(), CommandKind::All), this);
        sheet->setAttribute(Qt::WA_DeleteOnClose);
        connect(sheet, &ShortcutSheet::saveRequested, this, [this](const QString& sheetText) {
            auto* dialog = new QFileDialog(this, tr("Save the shortcuts"));
            dialog->setAttribute(Qt::WA_DeleteOnClose);
            dialog->setAcceptMode(QFileDialog::AcceptSave);
            dialog->selectFile(QStringLiteral("driftscope-shortcuts.txt"));
            connect(dialog, &QFileDialog::fileSelected, this, [this, sheetText](const QString& file) {
                writeInBackground(file, sheetText.toUtf8());
            });
            dialog->open();
        });
        sheet->show();
    });
    on(m_actions.about, [this] {
        QMessageBox::about(
            this, tr("About Driftscope"),
            tr("<b>%1</b><p>Finds out why two trainings that should be identical are not."
               "<p>Free software under the GNU General Public License, version 3 or later.")
                .arg(text(generatorName())));
    });
}

/// Beside the menus' actions it has the metrics, the runs and the steps.
void MainWindow::showPalette() {
    auto* palette = findChild<CommandPalette*>();
    if (!palette)
        palette = new CommandPalette(this);
    std::vector<Command> commands = commandsOf(*menuBar(), CommandKind::Enabled);
    if (m_session) {
        for (int i = 0; i < m_metrics->count(); ++i)
            commands.push_back({m_metrics->itemText(i), tr("Metric"), {},
                                m_metrics->itemData(i, Qt::ToolTipRole).toString(), [this, i] {
                                    m_metrics->setCurrentIndex(i);
                                    setMetric(i);
                                }});
        const StudyResults& results = *m_session->results();
        for (std::size_t run = 0; run < results.runs.size(); ++run)
            if (!isBesideItsRun(results, run))
                commands.push_back({runName(results, run), tr("Run"), {}, tr("Select this run in all views"),
                                    [this, run] { m_selection.setRun(run); }});
    }
    palette->model().setCommands(std::move(commands), [this](std::int64_t step) {
        if (const auto after = std::ranges::upper_bound(m_steps, step); after != m_steps.begin())
            m_selection.setStep(*(after - 1));
    });
    palette->popUp();
}

void MainWindow::connectSelection() {
    connect(m_runs, &RunsPanel::runSelected, this, [this](int run) { m_selection.setRun(run); });
    connect(&m_selection, &Selection::runChanged, this, [this] {
        m_runs->setSelectedRun(m_selection.run());
        refreshDetails();
    });
    connect(&m_runs->model(), &RunTreeModel::checkedRunsChanged, this,
            [this] {
                for (ViewPage* page : m_views->pages())
                    page->setRuns(m_runs->model().checkedRuns());
            });
    connect(m_reference, &QComboBox::activated, this,
            [this](int run) { m_session->setReference(run); });
    connect(m_metrics, &QComboBox::activated, this, &MainWindow::setMetric);
    connect(m_stepSlider, &QSlider::valueChanged, this, [this](int index) {
        m_followsLastStep = index == m_stepSlider->maximum();
        m_selection.setStep(m_steps.at(static_cast<std::size_t>(index)));
    });
    connect(&m_selection, &Selection::stepChanged, this, [this] {
        m_stepLabel->setText(QString::number(m_selection.step()));
        const auto at = std::ranges::lower_bound(m_steps, m_selection.step());
        m_stepSlider->setValue(static_cast<int>(at - m_steps.begin()));
    });
}

void MainWindow::chooseTheme(WindowSettings::ThemeChoice choice) {
    m_settings.theme = choice;
    m_actions.themes[static_cast<std::size_t>(choice)]->setChecked(true);
    switch (choice) {
    case WindowSettings::ThemeChoice::System:
        QApplication::setPalette(QPalette());
        break;
    case WindowSettings::ThemeChoice::Light:
        QApplication::setPalette(paletteOf(Theme::light()));
        break;
    case WindowSettings::ThemeChoice::Dark:
        QApplication::setPalette(paletteOf(Theme::dark()));
        break;
    }
    applyTheme();
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_status)
        applyTheme();
}

void MainWindow::applyTheme() {
    const Theme theme = Theme::matching(palette());
    m_actions.setTheme(theme);
    m_runs->setTheme(theme);
    m_message->setTheme(theme);
    m_details->setTheme(theme);
    refreshDetails();
    for (ViewPage* page : m_views->pages())
        page->setTheme(theme);
}

} // namespace driftscope
