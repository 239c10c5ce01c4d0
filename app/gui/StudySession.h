// SPDX-License-Identifier: GPL-3.0-or-later
// One open study: its results, its runs in flight, and the threads that serve both. Lives on the
// GUI thread; what other threads report arrives there as queued calls.
#pragma once

#include "ResultsFeed.h"
#include "StudyInput.h"

#include "execution/RunManager.h"

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace driftscope {

class StudySession : public QObject {
    Q_OBJECT

public:
    using Results = std::shared_ptr<const StudyResults>;

    explicit StudySession(QObject* parent = nullptr);
    ~StudySession() override;

    /// Ends with opened() or failed(). One of the two, once.
    void open(const std::vector<std::filesystem::path>& paths);
    /// Has the data read, then writes the study into a new folder and runs it; bad data ends with
    /// failed() and no folder. Where the folder holds a study already, that one is opened instead
    /// and hasOpenedExisting() says so.
    void run(const Study& study, const std::filesystem::path& folder);

    /// Opens a study folder and runs what has not finished in it; what those runs recorded is
    /// removed.
    void resume(const std::filesystem::path& folder);
    /// Asks the runs in flight to stop; stopped() follows.
    void stop();
    void setReference(std::size_t run);

    [[nodiscard]] const Results& results() const { return m_results; }
    /// Of the runs that this session has run or runs.
    [[nodiscard]] const std::vector<RunStatus>& statuses() const { return m_statuses; }
    /// As the run manager knows it, else as the run's file says.
    [[nodiscard]] std::optional<RunState> stateOf(std::size_t run) const;
    [[nodiscard]] bool isRunning() const { return m_manager != nullptr; }
    [[nodiscard]] bool hasOpenedExisting() const { return m_hasOpenedExisting; }
    /// True for a study folder with runs that have not finished and that nobody runs.
    [[nodiscard]] bool canResume() const;
    [[nodiscard]] std::filesystem::path path() const; ///< the folder, or the first run file

    struct Progress {
        std::size_t ended = 0;
        std::size_t total = 0; ///< runs, but for the float64 twins of others
        std::size_t twinsEnded = 0;
        std::size_t twins = 0;
        double secondsLeft = 0; ///< 0 until it can be told
        int coresInUse = 0;
        int cores = 0;
    };
    [[nodiscard]] Progress progress() const;
    /// Of each run in flight, by position, as soon as it can be told.
    [[nodiscard]] std::map<std::size_t, double> secondsLeft() const;

signals:
    void opened();
    void failed(const QString& message);
    void problem(const QString& message);
    void resultsChanged();
    void statusesChanged();
    void started();
    void saved();   ///< after stopped(): study.h5 is written
    void stopped(); ///< all runs have ended, of themselves or because they were stopped

private:
    /// Positions of the runs to start once the study is open; filled by `open`. nullptr: none.
    using RunsToStart = std::shared_ptr<std::vector<std::size_t>>;

    void follow(ResultsFeed::Open open, RunsToStart runs = nullptr);
    void start(std::vector<std::size_t> runs);
    void takeResults(Results results);
    void drain();

    Results m_results;
    struct Beginning {
        QElapsedTimer clock;
        std::int64_t step = 0;
    };
    std::vector<RunStatus> m_statuses;
    std::map<std::size_t, Beginning> m_beginnings; ///< when runs in flight were first heard of
    StudyInput m_input;
    bool m_hasOpenedExisting = false;
    QElapsedTimer m_clock;
    QTimer m_poll; ///< while another process writes the runs
    std::atomic<bool> m_isDrainQueued = false;
    std::unique_ptr<ResultsFeed> m_feed;
    std::unique_ptr<RunManager> m_manager;
};

} // namespace driftscope
