// SPDX-License-Identifier: GPL-3.0-or-later
// The window: the runs of a study in a tree, their curves and heatmaps, and what can be done with
// them.
#pragma once

#include "Actions.h"
#include "Selection.h"
#include "StudySession.h"
#include "Theme.h"
#include "WindowSettings.h"

#include "analysis/Metric.h"

#include <QMainWindow>
#include <QStringList>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <vector>

class QComboBox;
class QDockWidget;
class QLabel;
class QSlider;
class QStackedWidget;

namespace driftscope {

class MessageBar;
class RunDetails;
class RunsPanel;
class StartPage;
class ViewArea;

class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    MainWindow();
    ~MainWindow() override;

    void openPaths(const QStringList& paths);
    /// Runs the study in a new folder at once.
    void runStudy(const Study& study, const std::filesystem::path& folder);
    /// By its id, as --view takes it.
    void showView(const QString& id);
    /// The format is that of the file name's ending. Says in the message bar how it went.
    void exportTo(const QString& file);

    [[nodiscard]] const StudySession* session() const { return m_session.get(); }

protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void buildCentre();
    void buildDocks();
    void showDocks();
    void buildToolBar();
    void addToggle(QAction* toggle, const QString& name, const char* shortcut);
    void connectActions();
    void connectSelection();
    void showPalette();
    void applyTheme();
    void chooseTheme(WindowSettings::ThemeChoice choice);

    void begin(const std::function<void(StudySession&)>& how);
    void adopt();
    void whenStopped(const QString& question, std::function<void()> then);
    void takeResults();
    void takeStatuses();
    void runsEnded();
    void goOn(); ///< with what waited for the runs to stop and their results to be saved
    void runAgain();
    void editStudy(const QString& text, const std::filesystem::path& source);
    void editBuiltIn(const QString& name);
    void runBuiltIn(const QString& name);
    void chooseExportFile();
    void writeInBackground(const QString& file, const QByteArray& bytes);
    void chooseOpen(bool isFolder);

    void fillReferences();
    void fillSteps();
    void moveStep(int by);
    void showTwinRuns(bool isOn);
    void setMetric(int index);
    void refreshRecent();
    void refreshActions();
    void refreshStatusBar();
    void refreshDetails();

    WindowSettings m_settings = WindowSettings::load();
    Actions m_actions{this};
    Selection m_selection;
    std::unique_ptr<StudySession> m_session;
    std::unique_ptr<StudySession> m_candidate; ///< opening; takes over when it succeeded
    std::function<void()> m_afterStop;
    std::vector<std::int64_t> m_steps; ///< what the step slider goes through
    bool m_followsLastStep = true;
    Metric m_metric = Metric::RelativeL2;

    MessageBar* m_message = nullptr;
    QStackedWidget* m_centre = nullptr;
    StartPage* m_start = nullptr;
    ViewArea* m_views = nullptr;
    RunsPanel* m_runs = nullptr;
    RunDetails* m_details = nullptr;
    QDockWidget* m_runsDock = nullptr;
    QDockWidget* m_detailsDock = nullptr;
    QComboBox* m_reference = nullptr;
    QComboBox* m_metrics = nullptr;
    QSlider* m_stepSlider = nullptr;
    QLabel* m_stepLabel = nullptr;
    QLabel* m_status = nullptr;
    QMenu* m_recentMenu = nullptr;
    QMenu* m_viewMenu = nullptr;
    QThreadPool m_writers; ///< last: its threads end before what they report to
};

} // namespace driftscope
