// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/RunManager.h"

#include "execution/WorkerProcess.h"
#include "recording/RunReader.h"
#include "recording/RunWriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <sched.h>
#include <system_error>
#include <tuple>

namespace driftscope {

using Clock = std::chrono::steady_clock;

int availableCores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
        return std::max(1, CPU_COUNT(&set));
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

RunManager::RunManager(StudyFolder folder, Options options, std::function<void()> wake)
    : m_folder(std::move(folder)), m_options(std::move(options)), m_wake(std::move(wake)),
      m_queue(m_options.runs), m_status(m_folder.runs.size()), m_isDirty(m_folder.runs.size(), false),
      m_claimed(m_folder.runs.size(), 0) {
    if (m_queue.empty()) {
        m_queue.resize(m_folder.runs.size());
        std::iota(m_queue.begin(), m_queue.end(), std::size_t{0});
    }
    m_left = m_queue.size();
    for (std::size_t i = 0; i < m_status.size(); ++i)
        m_status[i].run = i;
    for (const std::size_t run : m_queue)
        m_isDirty[run] = true;
    std::ranges::stable_sort(m_queue, {}, [this](std::size_t i) {
        const RunConfig& run = m_folder.runs[i];
        // many small micro-batches take longer than few large ones, float64 longer than float32
        return std::tuple(!(run.isReference && !run.isTwin), !run.isReference,
                          -run.train.steps.value_or(std::numeric_limits<std::int64_t>::max()),
                          run.train.dtype != "float64", -run.train.accumulation);
    });
    const auto slots = std::min<std::size_t>(
        m_queue.size(), static_cast<std::size_t>(std::clamp(m_options.jobs, 1, std::max(1, m_options.cores))));
    try {
        for (std::size_t i = 0; i < slots; ++i)
            m_slots.emplace_back([this](const std::stop_token& stop) { serve(stop); });
    } catch (const std::system_error& error) {
        if (m_slots.empty())
            throw ExecutionError(fmt::format("no thread could be started to run the study: {}; are there too many "
                                             "processes, or too little memory?",
                                             error.code().message()));
        // those there are take all of the runs
    }
}

RunManager::~RunManager() {
    requestStop();
    m_slots.clear(); // joins
}

void RunManager::requestStop() {
    for (std::jthread& slot : m_slots)
        slot.request_stop();
}

bool RunManager::isDone() const {
    const std::lock_guard held(m_mutex);
    return m_left == 0;
}

void RunManager::wait() {
    std::unique_lock held(m_mutex);
    m_changed.wait(held, [this] { return m_left == 0; });
}

std::vector<RunStatus> RunManager::changes() {
    const std::lock_guard held(m_mutex);
    std::vector<RunStatus> changed;
    for (std::size_t i = 0; i < m_status.size(); ++i)
        if (m_isDirty[i])
            changed.push_back(m_status[i]);
    m_isDirty.assign(m_isDirty.size(), false);
    return changed;
}

/// A run that inherits its thread count is taken to use every core until it has said what it got. The reference
/// is trained again beside a run that is measured against it.
int RunManager::coresFor(std::size_t run) const {
    std::int64_t cores = m_folder.runs[run].train.threads.value_or(m_options.cores);
    if (const auto reference = measuredAgainst(run))
        cores += m_folder.runs[*reference].train.threads.value_or(m_options.cores);
    return static_cast<int>(std::min<std::int64_t>(cores, m_options.cores));
}

std::optional<std::size_t> RunManager::measuredAgainst(std::size_t run) const {
    return m_folder.runs[run].record.weights == "metrics" ? m_folder.referenceOf(run) : std::nullopt;
}

bool RunManager::isReferenceDone(std::size_t run) const {
    const auto reference = measuredAgainst(run);
    return !reference || (std::ranges::find(m_queue, *reference) == m_queue.end() && m_claimed[*reference] == 0);
}

/// One run per GPU.
bool RunManager::isDeviceFree(std::size_t run) const {
    const std::string& device = m_folder.runs[run].train.device;
    if (device == "cpu")
        return true;
    for (std::size_t i = 0; i < m_claimed.size(); ++i)
        if (m_claimed[i] > 0 && m_folder.runs[i].train.device == device)
            return false;
    return true;
}

std::optional<std::size_t> RunManager::takeNext(const std::stop_token& stop) {
    std::unique_lock held(m_mutex);
    auto next = m_queue.end();
    const auto findNext = [&] {
        next = std::ranges::find_if(m_queue, [&](std::size_t run) {
            return coresFor(run) <= m_options.cores - m_coresInUse && isDeviceFree(run) && isReferenceDone(run);
        });
        return next != m_queue.end() || m_queue.empty();
    };
    if (!m_changed.wait(held, stop, findNext) || stop.stop_requested() || m_queue.empty())
        return std::nullopt;
    const std::size_t run = *next;
    m_queue.erase(next);
    m_claimed[run] = coresFor(run);
    m_coresInUse += m_claimed[run];
    return run;
}

/// In an earlier session or in this one.
bool RunManager::isFinished(std::size_t run) const {
    try {
        return RunReader(m_folder.runFile(m_folder.runs[run])).progress().state == RunState::Finished;
    } catch (const RecordingError&) {
        return false;
    }
}

void RunManager::serve(const std::stop_token& stop) {
    while (const std::optional<std::size_t> run = takeNext(stop)) {
        execute(*run, stop);
        {
            const std::lock_guard held(m_mutex);
            m_coresInUse -= m_claimed[*run];
            m_claimed[*run] = 0;
        }
        m_changed.notify_all();
    }
    // After a stop nobody takes what is left.
    std::vector<std::size_t> left;
    if (stop.stop_requested()) {
        const std::lock_guard held(m_mutex);
        left.swap(m_queue);
    }
    for (const std::size_t run : left)
        finish(run, RunState::Cancelled, "stopped before it began");
}

void RunManager::execute(std::size_t run, const std::stop_token& stop) {
    update(run, [](RunStatus& status) { status.state = RunState::Running; });
    const RunConfig& config = m_folder.runs[run];
    const auto start = Clock::now();
    WorkerEnded end;
    try {
        WorkerRequest request{config, m_folder.runFile(config)};
        WorkerLaunch launch{m_options.worker, m_folder.logFile(config), m_options.timeLimit};
        if (const auto reference = measuredAgainst(run)) {
            if (!isFinished(*reference))
                throw ExecutionError(fmt::format("weights = \"metrics\" needs the reference, {}, which has not finished",
                                                 label(m_folder.runs[*reference])));
            request.stream = StreamUse::Compare;
            request.referenceFile = m_folder.runFile(m_folder.runs[*reference]);
            launch.reference = m_folder.runs[*reference];
        }
        end = runWorker(launch, request, stop, [&](const WorkerEvent& event) {
            update(run, [&](RunStatus& status) {
                if (const auto* started = std::get_if<WorkerStarted>(&event)) {
                    status.steps = started->steps;
                    status.threads = started->threads;
                    const int cores = std::min(started->threads, m_options.cores);
                    if (!measuredAgainst(run)) { // else its reference's are not known
                        m_coresInUse += cores - m_claimed[run];
                        m_claimed[run] = cores;
                    }
                } else if (const auto* stepped = std::get_if<WorkerStepped>(&event)) {
                    status.step = stepped->step;
                    status.loss = stepped->loss;
                }
            });
        });
    } catch (const std::exception& error) {
        end = {RunState::Failed, error.what(), 0, 0};
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    update(run, [&](RunStatus& status) {
        status.seconds = seconds;
        status.trainingSeconds = end.trainingSeconds;
        status.peakMemoryBytes = end.peakMemoryBytes;
        if (end.state == RunState::Finished)
            status.step = status.steps;
    });
    finish(run, end.state, end.message);
}

void RunManager::finish(std::size_t run, RunState state, const std::string& message) {
    std::string complete = message;
    // The worker writes its own end; where it could not, the file must still say why.
    if (state != RunState::Finished) {
        try {
            recordOutcome(m_folder.runFile(m_folder.runs[run]), m_folder.runs[run], state, message);
        } catch (const std::exception& error) {
            complete += std::string("; and that could not be recorded: ") + error.what();
        }
    }
    {
        const std::lock_guard held(m_mutex);
        --m_left;
        m_status[run].state = state;
        m_status[run].message = complete;
        m_isDirty[run] = true;
    }
    m_changed.notify_all();
    m_wake();
}

void RunManager::update(std::size_t run, const std::function<void(RunStatus&)>& change) {
    {
        const std::lock_guard held(m_mutex);
        change(m_status[run]);
        m_isDirty[run] = true;
    }
    m_changed.notify_all();
    m_wake();
}

} // namespace driftscope
