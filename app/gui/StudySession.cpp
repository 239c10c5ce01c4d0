// SPDX-License-Identifier: GPL-3.0-or-later
#include "StudySession.h"

#include "analysis/Twins.h"
#include "execution/DataCheck.h"
#include "execution/WorkerProcess.h"

#include <algorithm>

namespace driftscope {
namespace {

constexpr int pollMs = 1000;

QString text(const std::string& string) {
    return QString::fromStdString(string);
}

} // namespace

StudySession::StudySession(QObject* parent) : QObject(parent) {
    m_poll.setInterval(pollMs);
    connect(&m_poll, &QTimer::timeout, this, [this] { m_feed->requestUpdate(); });
}

// The threads end here, while this object can still take what they post.
StudySession::~StudySession() {
    m_manager.reset();
    m_feed.reset();
}

void StudySession::open(const std::vector<std::filesystem::path>& paths) {
    follow([paths](const std::stop_token&) { return openLive(classify(paths)); });
    m_input = paths.size() == 1 ? StudyInput(FolderInput{paths.front()})
                                : StudyInput(RunFilesInput{paths});
}

void StudySession::run(const Study& study, const std::filesystem::path& folder) {
    const bool exists = std::filesystem::exists(folder / "study.toml");
    m_hasOpenedExisting = exists;
    const auto runs = std::make_shared<std::vector<std::size_t>>();
    follow(
        [study, folder, exists, runs](const std::stop_token& stop) {
            if (!exists) // bad data leaves no folder behind
                checkData(expand(study), findWorker(), stop);
            if (stop.stop_requested())
                throw StudyError("stopped before the study was created");
            StudyFolder opened =
                exists ? openStudyFolder(folder) : createStudyFolder(folder, study);
            *runs = opened.unfinishedRuns();
            return LiveResults(std::move(opened));
        },
        exists ? nullptr : runs);
    m_input = FolderInput{folder};
}

void StudySession::resume(const std::filesystem::path& folder) {
    const auto runs = std::make_shared<std::vector<std::size_t>>();
    follow(
        [folder, runs](const std::stop_token&) {
            StudyFolder study = openStudyFolder(folder);
            *runs = study.unfinishedRuns();
            study.clearRuns(*runs);
            return LiveResults(std::move(study));
        },
        runs);
    m_input = FolderInput{folder};
}

void StudySession::follow(ResultsFeed::Open open, RunsToStart runs) {
    const auto post = [this](auto call) {
        QMetaObject::invokeMethod(this, call, Qt::QueuedConnection);
    };
    m_feed = std::make_unique<ResultsFeed>(
        std::move(open), availableCores(),
        ResultsFeed::Callbacks{
            .opened =
                [this, post, runs](Results results) {
                    post([this, runs, results] {
                        m_results = results;
                        emit opened();
                        if (runs && !runs->empty())
                            start(*runs);
                    });
                },
            .updated = [this,
                        post](Results results) { post([this, results] { takeResults(results); }); },
            .failed =
                [this, post](const std::string& what) {
                    post([this, what] { emit failed(text(what)); });
                },
            .problem =
                [this, post](const std::string& what) {
                    post([this, what] { emit problem(text(what)); });
                },
            .saved = [this, post] { post([this] { emit saved(); }); },
        });
}

void StudySession::takeResults(Results results) {
    m_results = std::move(results);
    const bool isWrittenElsewhere =
        !m_manager && std::ranges::any_of(m_results->runs, [](const RunResult& run) {
            return run.state == RunState::Running;
        });
    if (isWrittenElsewhere && !m_poll.isActive())
        m_poll.start();
    else if (!isWrittenElsewhere)
        m_poll.stop();
    emit resultsChanged();
}

void StudySession::start(std::vector<std::size_t> runs) {
    try {
        const RunManager::Options options{
            .worker = findWorker(), .cores = availableCores(), .runs = std::move(runs)};
        m_clock.start();
        m_statuses.clear();
        m_beginnings.clear();
        m_manager = std::make_unique<RunManager>(m_results->folder, options, [this] {
            if (!m_isDrainQueued.exchange(true))
                QMetaObject::invokeMethod(this, &StudySession::drain, Qt::QueuedConnection);
        });
        emit started();
    } catch (const std::exception& error) {
        emit problem(text(error.what()));
    }
}

void StudySession::drain() {
    m_isDrainQueued = false;
    if (!m_manager)
        return;
    const bool isDone = m_manager->isDone();
    for (RunStatus& status : m_manager->changes()) {
        if (status.state == RunState::Running && status.steps > 0 &&
            !m_beginnings.contains(status.run)) {
            Beginning& beginning = m_beginnings[status.run];
            beginning.clock.start();
            beginning.step = status.step;
        }
        const auto known = std::ranges::find(m_statuses, status.run, &RunStatus::run);
        (known == m_statuses.end() ? m_statuses.emplace_back() : *known) = std::move(status);
    }
    emit statusesChanged();
    if (!isDone) {
        m_feed->requestUpdate();
        return;
    }
    m_manager.reset();
    m_feed->requestSave();
    emit stopped();
}

void StudySession::stop() {
    if (m_manager)
        m_manager->requestStop();
}

void StudySession::setReference(std::size_t run) {
    m_feed->setReference(run);
}

std::optional<RunState> StudySession::stateOf(std::size_t run) const {
    const auto known = std::ranges::find(m_statuses, run, &RunStatus::run);
    return known != m_statuses.end() ? known->state : m_results->runs.at(run).state;
}

bool StudySession::canResume() const {
    const auto isUnfinished = [](const RunResult& run) { return run.state != RunState::Finished; };
    const auto isRunningNow = [](const RunResult& run) { return run.state == RunState::Running; };
    return m_results && !m_results->folder.path.empty() &&
           std::ranges::any_of(m_results->runs, isUnfinished) &&
           std::ranges::none_of(m_results->runs, isRunningNow);
}

std::filesystem::path StudySession::path() const {
    if (const auto* folder = std::get_if<FolderInput>(&m_input))
        return folder->path;
    const auto* files = std::get_if<RunFilesInput>(&m_input);
    return files && !files->files.empty() ? files->files.front() : std::filesystem::path();
}

StudySession::Progress StudySession::progress() const {
    Progress progress;
    progress.cores = availableCores();
    if (!m_results)
        return progress;
    for (std::size_t run = 0; run < m_results->runs.size(); ++run) {
        const std::optional<RunState> state = stateOf(run);
        const bool hasEnded = state && state != RunState::Running;
        const bool isTwin = isBesideItsRun(*m_results, run);
        ++(isTwin ? progress.twins : progress.total);
        (isTwin ? progress.twinsEnded : progress.ended) += hasEnded;
    }
    if (!isRunning())
        return progress;
    // Steps of runs that have not counted theirs yet are taken to be as many as the others'.
    double done = 0;
    double known = 0;
    std::size_t counted = 0;
    for (const RunStatus& status : m_statuses) {
        const bool hasEnded = status.state && status.state != RunState::Running;
        if (status.state == RunState::Running)
            progress.coresInUse += status.threads;
        if (status.steps == 0)
            continue;
        ++counted;
        known += static_cast<double>(status.steps);
        done += static_cast<double>(hasEnded ? status.steps : status.step);
    }
    progress.coresInUse = std::min(progress.coresInUse, progress.cores);
    if (done > 0) {
        const double total =
            known / static_cast<double>(counted) * static_cast<double>(m_statuses.size());
        progress.secondsLeft =
            static_cast<double>(m_clock.elapsed()) / 1000 * (total - done) / done;
    }
    return progress;
}

std::map<std::size_t, double> StudySession::secondsLeft() const {
    std::map<std::size_t, double> seconds;
    for (const RunStatus& status : m_statuses) {
        const auto beginning = m_beginnings.find(status.run);
        if (!isRunning() || status.state != RunState::Running || beginning == m_beginnings.end() ||
            status.step <= beginning->second.step)
            continue;
        seconds[status.run] = static_cast<double>(beginning->second.clock.elapsed()) / 1000 *
                              static_cast<double>(status.steps - status.step) /
                              static_cast<double>(status.step - beginning->second.step);
    }
    return seconds;
}

} // namespace driftscope
