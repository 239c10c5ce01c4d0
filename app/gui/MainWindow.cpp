// SPDX-License-Identifier: GPL-3.0-or-later
#include "MainWindow.h"

#include "MessageBar.h"
#include "NewStudyDialog.h"
#include "RunDetails.h"
#include "RunsPanel.h"
#include "RunText.h"
#include "StartPage.h"
#include "ViewArea.h"
#include "ViewDefaults.h"
#include "ViewPage.h"

#include "analysis/Twins.h"

#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QSlider>
#include <QStackedWidget>
#include <QStatusBar>

#include <algorithm>
#include <map>

namespace driftscope {

namespace fs = std::filesystem;

namespace {

QString text(const std::string& string) {
    return QString::fromStdString(string);
}

fs::path toPath(const QString& string) {
    return string.toStdString();
}

} // namespace

MainWindow::MainWindow() {
    setObjectName(QStringLiteral("mainWindow"));
    setWindowTitle(tr("Driftscope"));
    setAcceptDrops(true);
    resize(1280, 720);
    buildCentre();
    m_actions.addViews(m_views->pages());
    m_actions.addMenus(*this, m_recentMenu, m_viewMenu);
    buildDocks();
    buildToolBar();
    m_status = new QLabel(this);
    m_status->setObjectName(QStringLiteral("runStatus"));
    statusBar()->addPermanentWidget(m_status);
    connectActions();
    connectSelection();
    chooseTheme(m_settings.theme);
    restoreGeometry(m_settings.geometry);
    restoreState(m_settings.state);
    m_views->restoreState(m_settings.views);
    refreshRecent();
    refreshActions();
}

MainWindow::~MainWindow() {
    // Sessions post to the window's members: they end first.
    m_candidate.reset();
    m_session.reset();
}

void MainWindow::openPaths(const QStringList& paths) {
    std::vector<fs::path> files;
    for (const QString& path : paths)
        files.push_back(toPath(path));
    try {
        const StudyInput input = classify(files);
        if (const auto* study = std::get_if<StudyTextInput>(&input)) {
            QFile file(text(study->file.string()));
            if (!file.open(QIODevice::ReadOnly))
                throw StudyError(study->file.string() + ": cannot be read");
            editStudy(QString::fromUtf8(file.readAll()), study->file);
            return;
        }
    } catch (const std::exception& error) {
        m_message->showMessage(MessageBar::Kind::Error, text(error.what()));
        return;
    }
    whenStopped(tr("Runs are in flight. Stop them and open the other study?"),
                [this, files] { begin([&](StudySession& session) { session.open(files); }); });
}

void MainWindow::runStudy(const Study& study, const fs::path& folder) {
    whenStopped(tr("Runs are in flight. Stop them and run the other study?"),
                [this, study, folder] {
                    begin([&](StudySession& session) { session.run(study, folder); });
                });
}

/// A study takes the place of the open one when it has been opened, so that a wrong file changes
/// nothing.
void MainWindow::begin(const std::function<void(StudySession&)>& how) {
    m_candidate = std::make_unique<StudySession>();
    StudySession* session = m_candidate.get();
    connect(session, &StudySession::opened, this, &MainWindow::adopt);
    connect(session, &StudySession::failed, this, [this](const QString& what) {
        m_message->showMessage(MessageBar::Kind::Error, what);
        m_candidate.release()->deleteLater();
    });
    statusBar()->showMessage(tr("Opening…"));
    how(*session);
}

void MainWindow::adopt() {
    statusBar()->clearMessage();
    m_message->hide();
    const bool isFirst = m_session == nullptr;
    m_session = std::move(m_candidate);
    StudySession* session = m_session.get();
    connect(session, &StudySession::resultsChanged, this, &MainWindow::takeResults);
    connect(session, &StudySession::statusesChanged, this, &MainWindow::takeStatuses);
    connect(session, &StudySession::started, this, &MainWindow::refreshActions);
    connect(session, &StudySession::stopped, this, &MainWindow::runsEnded);
    connect(session, &StudySession::saved, this, &MainWindow::goOn);
    connect(session, &StudySession::problem, this, [this](const QString& what) {
        m_message->showMessage(MessageBar::Kind::Error, what);
        refreshActions();
        goOn();
    });
    const fs::path path = session->path();
    m_settings.addRecent(text(path.string()));
    refreshRecent();
    setWindowTitle(tr("%1 — Driftscope").arg(text(session->results()->folder.study.name)));
    m_selection.setRun(std::nullopt);
    m_selection.setScope(std::nullopt);
    m_followsLastStep = true;
    if (isFirst)
        showDocks();
    m_centre->setCurrentWidget(m_views);
    takeResults();
    if (session->hasOpenedExisting())
        m_message->showMessage(MessageBar::Kind::Info,
                               tr("%1 holds this study already: it is shown as it was recorded.")
                                   .arg(text(path.string())),
                               m_actions.run);
}

void MainWindow::whenStopped(const QString& question, std::function<void()> then) {
    if (!m_session || !m_session->isRunning()) {
        then();
        return;
    }
    auto* box = new QMessageBox(QMessageBox::Question, tr("Runs in flight"), question,
                                QMessageBox::Cancel, this);
    box->setObjectName(QStringLiteral("stopQuestion"));
    box->setInformativeText(tr("What they have recorded so far stays."));
    box->setAttribute(Qt::WA_DeleteOnClose);
    const QPushButton* stop = box->addButton(tr("Stop them"), QMessageBox::AcceptRole);
    connect(stop, &QPushButton::clicked, this, [this, then = std::move(then)] {
        if (!m_session->isRunning()) {
            then();
            return;
        }
        m_afterStop = then;
        m_session->stop();
        statusBar()->showMessage(tr("Stopping…"));
    });
    box->open();
}

void MainWindow::takeResults() {
    const StudySession::Results& results = m_session->results();
    fillReferences();
    fillSteps();
    m_runs->model().setResults(results);
    m_runs->model().setStatuses(m_session->statuses());
    for (ViewPage* page : m_views->pages())
        page->setResults(results);
    refreshDetails();
    refreshActions();
    refreshStatusBar();
}

void MainWindow::takeStatuses() {
    m_runs->model().setStatuses(m_session->statuses());
    m_runs->model().setSecondsLeft(m_session->secondsLeft());
    refreshStatusBar();
}

void MainWindow::runsEnded() {
    statusBar()->clearMessage();
    refreshActions();
    refreshStatusBar();
    std::map<RunState, int> counts;
    std::size_t total = 0;
    int lostTwins = 0; // of runs that are there without them
    const StudyResults& results = *m_session->results();
    for (std::size_t run = 0; run < results.runs.size(); ++run) {
        const RunState state = m_session->stateOf(run).value_or(RunState::Cancelled);
        if (isBesideItsRun(results, run)) {
            const auto own = runOfTwin(results, run);
            lostTwins += state != RunState::Finished && own &&
                         m_session->stateOf(*own) == RunState::Finished;
            continue;
        }
        ++total;
        ++counts[state];
    }
    if (counts.size() == 1 && counts.contains(RunState::Finished) && lostTwins == 0) {
        m_message->showMessage(MessageBar::Kind::Info, tr("%1 finished.").arg(runCount(total)),
                               m_actions.exportView);
    } else {
        QStringList parts;
        for (const auto& [state, count] : counts)
            parts << QStringLiteral("%1 %2").arg(count).arg(stateWord(state));
        if (lostTwins > 0)
            parts << tr("%1 without their float64 twin (View menu: Show twins in the tree)")
                         .arg(lostTwins);
        m_message->showMessage(MessageBar::Kind::Warning,
                               tr("Of %1: %2. Select one in the tree to see why it did not finish.")
                                   .arg(runCount(total))
                                   .arg(parts.join(QStringLiteral(", "))));
    }
}

void MainWindow::goOn() {
    if (m_session->isRunning())
        return;
    if (const auto then = std::exchange(m_afterStop, nullptr))
        then();
}

void MainWindow::runAgain() {
    if (!m_session) {
        editBuiltIn(QString());
        return;
    }
    if (m_session->canResume()) {
        begin([path = m_session->path()](StudySession& session) { session.resume(path); });
        return;
    }
    const StudyFolder& folder = m_session->results()->folder;
    editStudy(text(toToml(folder.study)), folder.path / "study.toml");
}

void MainWindow::editStudy(const QString& studyText, const fs::path& source) {
    auto* dialog = new NewStudyDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &NewStudyDialog::runRequested, this, &MainWindow::runStudy);
    if (!studyText.isEmpty())
        dialog->startWith(studyText, source);
    dialog->open();
}

void MainWindow::editBuiltIn(const QString& name) {
    editStudy(QString(), {});
    if (!name.isEmpty())
        findChild<NewStudyDialog*>()->startWith(name);
}

void MainWindow::runBuiltIn(const QString& name) {
    try {
        const Study study = loadStudy(name.toStdString());
        runStudy(study, suggestFolder(study.name));
    } catch (const std::exception& error) {
        m_message->showMessage(MessageBar::Kind::Error, text(error.what()));
    }
}

void MainWindow::chooseOpen(bool isFolder) {
    auto* dialog =
        new QFileDialog(this, isFolder ? tr("Open a study folder") : tr("Open run files"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(isFolder ? QFileDialog::Directory : QFileDialog::ExistingFiles);
    if (!isFolder)
        dialog->setNameFilters({tr("Runs and studies (*.h5 *.toml)"), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, &MainWindow::openPaths);
    dialog->open();
}

void MainWindow::chooseExportFile() {
    auto* dialog = new QFileDialog(this, tr("Export view"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({tr("PNG picture (*.png)"), tr("SVG drawing (*.svg)"),
                            tr("PDF document (*.pdf)"), tr("CSV table (*.csv)")});
    dialog->setDefaultSuffix(QStringLiteral("png"));
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.section(QStringLiteral("*."), 1).left(3));
    });
    dialog->selectFile(QStringLiteral("%1-%2.png")
                           .arg(text(m_session->results()->folder.study.name),
                                m_views->current()->info().id));
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::exportTo);
    dialog->open();
}

void MainWindow::exportTo(const QString& file) {
    try {
        const ExportFormat format = exportFormat(toPath(file));
        writeInBackground(file, m_views->current()->exported(format, exportSize));
    } catch (const ExportError& error) {
        m_message->showMessage(MessageBar::Kind::Error, text(error.what()));
    }
}

/// Says in the message bar how it went.
void MainWindow::writeInBackground(const QString& file, const QByteArray& bytes) {
    m_writers.start([this, file, bytes] {
        MessageBar::Kind kind = MessageBar::Kind::Info;
        QString what = tr("Saved %1").arg(file);
        try {
            writeWhole(toPath(file), bytes);
        } catch (const ExportError& error) {
            kind = MessageBar::Kind::Error;
            what = text(error.what());
        }
        QMetaObject::invokeMethod(
            this, [this, kind, what] { m_message->showMessage(kind, what); }, Qt::QueuedConnection);
    });
}

void MainWindow::fillReferences() {
    const StudyResults& results = *m_session->results();
    const QSignalBlocker blocked(m_reference);
    m_reference->clear();
    for (std::size_t run = 0; run < results.runs.size(); ++run) {
        m_reference->addItem(runName(results, run));
        if (results.runs[run].config.isReference && !results.runs[run].config.isTwin)
            m_reference->setCurrentIndex(static_cast<int>(run));
    }
}

void MainWindow::fillSteps() {
    const auto& runs = m_session->results()->runs;
    const auto longest =
        std::ranges::max_element(runs, {}, [](const RunResult& run) { return run.steps.size(); });
    m_steps = longest == runs.end() ? std::vector<std::int64_t>{} : longest->steps;
    const QSignalBlocker blocked(m_stepSlider);
    m_stepSlider->setEnabled(m_steps.size() > 1);
    m_stepSlider->setRange(0, std::max(0, static_cast<int>(m_steps.size()) - 1));
    if (m_followsLastStep)
        m_selection.setStep(m_steps.empty() ? 0 : m_steps.back());
}

void MainWindow::moveStep(int by) {
    m_stepSlider->setValue(m_stepSlider->value() + by);
}

void MainWindow::showTwinRuns(bool isOn) {
    const std::optional<std::size_t> run = m_selection.run();
    m_runs->model().setShowsTwins(isOn);
    if (!isOn && run && isBesideItsRun(*m_session->results(), *run))
        m_selection.setRun(runOfTwin(*m_session->results(), *run));
    m_runs->setSelectedRun(m_selection.run()); // the tree has been filled anew
}

void MainWindow::setMetric(int index) {
    m_metric = metrics()[static_cast<std::size_t>(index)].metric;
    m_metrics->setToolTip(text(std::string(infoOf(m_metric).help)));
    m_runs->model().setMetric(m_metric);
    for (ViewPage* page : m_views->pages())
        page->setMetric(m_metric);
}

void MainWindow::refreshRecent() {
    m_start->setRecent(m_settings.recent);
    m_recentMenu->clear();
    m_recentMenu->setEnabled(!m_settings.recent.isEmpty());
    int number = 0;
    for (const QString& path : m_settings.recent) {
        QAction* action = m_recentMenu->addAction(path);
        ++number;
        action->setObjectName(QStringLiteral("recent%1").arg(number));
        action->setShortcut(QKeySequence(QStringLiteral("Ctrl+Alt+%1").arg(number)));
        action->setToolTip(tr("Open %1").arg(path));
        connect(action, &QAction::triggered, this, [this, path] { openPaths({path}); });
    }
    m_settings.save();
}

void MainWindow::refreshActions() {
    const bool hasStudy = m_session != nullptr;
    const bool isRunning = hasStudy && m_session->isRunning();
    m_actions.run->setEnabled(!isRunning);
    m_actions.stop->setEnabled(isRunning);
    for (QAction* action :
         {m_actions.exportView, m_actions.useAsReference, m_actions.onlyThisRun, m_actions.allRuns,
          m_actions.filterRuns, m_actions.resetViews})
        action->setEnabled(hasStudy);
    for (QAction* action : m_actions.views)
        action->setEnabled(hasStudy);
    m_actions.twinRuns->setEnabled(hasStudy && m_session->progress().twins > 0);
    m_reference->setEnabled(hasStudy);
    m_metrics->setEnabled(hasStudy);
}

void MainWindow::refreshStatusBar() {
    const StudySession::Progress progress = m_session->progress();
    QStringList parts{tr("%1 of %2").arg(progress.ended).arg(runCount(progress.total))};
    if (m_session->isRunning()) {
        if (progress.twins > 0)
            parts << tr("%1 of %2 twins").arg(progress.twinsEnded).arg(progress.twins);
        if (progress.secondsLeft > 0)
            parts << timeLeft(progress.secondsLeft);
        parts << tr("%1 of %2 cores").arg(progress.coresInUse).arg(progress.cores);
    }
    parts << text(m_session->path().string());
    m_status->setText(parts.join(QStringLiteral(" · ")));
}

void MainWindow::refreshDetails() {
    m_details->showRun(m_session ? m_session->results().get() : nullptr, m_selection.run());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (m_session && m_session->isRunning()) {
        event->ignore();
        whenStopped(tr("Runs are in flight. Stop them and quit?"), [this] { close(); });
        return;
    }
    m_settings.geometry = saveGeometry();
    m_settings.views = m_views->saveState();
    if (m_session) // before that the docks are hidden
        m_settings.state = saveState();
    m_settings.save();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    QStringList paths;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile())
            paths << url.toLocalFile();
    if (!paths.isEmpty())
        openPaths(paths);
}

void MainWindow::showView(const QString& id) {
    ViewPage* page = m_views->page(id);
    if (!page)
        return;
    m_centre->setCurrentWidget(m_views);
    m_views->showPage(page);
}

} // namespace driftscope
