// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/WorkerProcess.h"

#include "execution/WorkerEnvironment.h"

#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

namespace driftscope {
namespace {

namespace bp = boost::process;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto patience = 10s; ///< between SIGTERM and SIGKILL

/// Boost's pipes stay open in every process started meanwhile, and would keep a dead worker's output
/// from ending: close them there.
bp::pipe privatePipe() {
    bp::pipe pipe;
    for (const int fd : {pipe.native_source(), pipe.native_sink()})
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    return pipe;
}

/// To a worker that may have died already, which must cost its own run and not this process.
void writeAll(const bp::pipe& pipe, std::string_view text) {
    sigset_t brokenPipe, before;
    ::sigemptyset(&brokenPipe);
    ::sigaddset(&brokenPipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &brokenPipe, &before);
    while (!text.empty()) {
        const ssize_t n = ::write(pipe.native_sink(), text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            const timespec now{};
            ::sigtimedwait(&brokenPipe, nullptr, &now); // this thread's own, which nobody else is to get
            break;
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// What must hold in the worker before its program begins, which takes LibTorch 0.4 s to load: it ends
/// with its parent, and Ctrl-C, which reaches the whole group, is for the parent to decide on.
/// `stream`, where there is one, stays open in it.
auto guardedBy(pid_t parent, int stream) {
    return bp::extend::on_exec_setup = [parent, stream](auto&) {
        if (stream >= 0)
            ::fcntl(stream, F_SETFD, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        ::signal(SIGINT, SIG_IGN);
        if (::getppid() != parent)
            ::_exit(1);
    };
}

/// Throws ExecutionError where the system has no thread left.
template <class Work>
std::jthread startThread(Work work) {
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error& error) {
        throw ExecutionError(fmt::format("no thread could be started to watch over the worker: {}; are there too many "
                                         "processes, or too little memory?",
                                         error.code().message()));
    }
}

/// Sends SIGTERM at a stop request or when the time is up, and SIGKILL where that does not help.
class Terminator {
public:
    Terminator(pid_t pid, std::stop_token stop, std::chrono::seconds timeLimit)
        : m_thread(startThread([this, pid, stop = std::move(stop), timeLimit](const std::stop_token& ended) {
              std::mutex mutex;
              std::condition_variable_any wake;
              const std::stop_callback onStop(stop, [&] {
                  { const std::lock_guard held(mutex); }
                  wake.notify_all();
              });
              std::unique_lock lock(mutex);
              const auto isStopped = [&] { return stop.stop_requested(); };
              if (timeLimit.count() > 0)
                  m_isOverTime = !wake.wait_for(lock, ended, timeLimit, isStopped) && !ended.stop_requested();
              else
                  wake.wait(lock, ended, isStopped);
              if (ended.stop_requested())
                  return;
              m_fired = true;
              ::kill(pid, SIGTERM);
              if (!wake.wait_for(lock, ended, patience, [] { return false; }) && !ended.stop_requested())
                  ::kill(pid, SIGKILL);
          })) {}

    [[nodiscard]] bool hasFired() const { return m_fired; }
    [[nodiscard]] bool isOverTime() const { return m_isOverTime; }

private:
    std::atomic<bool> m_fired = false;
    std::atomic<bool> m_isOverTime = false;
    std::jthread m_thread;
};

/// The last line that says something, for the message of a run that crashed.
std::string lastLine(const fs::path& log) {
    std::ifstream in(log);
    std::string last;
    for (std::string line; std::getline(in, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos)
            last = line;
    return last.substr(0, 300);
}

/// Until the process has ended; it stays a zombie, so that its number is still its own.
void waitUnreaped(pid_t pid) {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
}

WorkerEnded endOf(const bp::child& child, const fs::path& log, bool wasStopped) {
    const int status = child.native_exit_code();
    if (wasStopped)
        return {RunState::Cancelled, "stopped", 0, 0};
    std::string message;
    if (WIFSIGNALED(status))
        message = fmt::format("the worker process was killed by signal {} ({})", WTERMSIG(status),
                              ::strsignal(WTERMSIG(status)));
    else
        message = fmt::format("the worker process ended with exit code {}", WEXITSTATUS(status));
    if (const std::string last = lastLine(log); !last.empty())
        message += fmt::format("; its last words: {}", last);
    return {RunState::Failed, message, 0, 0};
}

/// A worker that has got its request.
struct Process {
    bp::child child;
    std::unique_ptr<bp::ipstream> output;
};

/// No other process starts between a pipe's creation and its marking.
std::mutex& starting() {
    static std::mutex mutex;
    return mutex;
}

/// `stream` stays open in the worker where it is one of this process's descriptors.
Process start(const fs::path& worker, const char* mode, const std::string& request, const TrainConfig& settings,
              int stream, const fs::path& log) {
    bp::environment environment = boost::this_process::environment();
    for (const auto& [name, value] : workerEnvironment(settings))
        environment[name] = value;
    Process process;
    std::optional<bp::pipe> requestPipe;
    {
        const std::lock_guard held(starting());
        bp::pipe input = privatePipe();
        process.output = std::make_unique<bp::ipstream>(privatePipe());
        std::error_code error;
        process.child = bp::child(worker.string(), mode, bp::std_in < input, bp::std_out > *process.output,
                                  bp::std_err > log.string(), environment, guardedBy(::getpid(), stream), error);
        if (error)
            throw ExecutionError(fmt::format("{}: cannot be started: {}", worker.string(), error.message()));
        requestPipe = std::move(input);
    }
    writeAll(*requestPipe, request + '\n');
    return process;
}

Process start(const fs::path& worker, const WorkerRequest& request, const fs::path& log) {
    return start(worker, "--run", toLine(request), request.config.train, request.streamDescriptor, log);
}

/// The reference, trained once more to feed the run that is compared with it. Killed where it outlives that.
class Replay {
public:
    Replay(const WorkerLaunch& launch, int stream)
        : m_process(start(launch.worker,
                          {.config = *launch.reference,
                           .file = {},
                           .stream = StreamUse::Feed,
                           .streamDescriptor = stream},
                          fs::path(launch.log).replace_extension(".reference.log"))),
          m_drain(startThread([this] { // a full pipe would hold it up
              for (std::string line; std::getline(*m_process.output, line);) {
              }
          })) {}
    ~Replay() {
        ::kill(m_process.child.id(), SIGKILL);
        std::error_code ignored;
        m_process.child.wait(ignored);
    }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

private:
    Process m_process;
    std::jthread m_drain;
};

} // namespace

WorkerEnded runWorker(const WorkerLaunch& launch, WorkerRequest request, std::stop_token stop,
                      const std::function<void(const WorkerEvent&)>& onEvent) {
    std::optional<Replay> replay;
    std::optional<bp::pipe> stream;
    if (request.stream == StreamUse::Compare) {
        {
            const std::lock_guard held(starting());
            stream = privatePipe();
        }
        replay.emplace(launch, stream->native_sink());
        request.streamDescriptor = stream->native_source();
    }
    Process process = start(launch.worker, request, launch.log);
    if (stream)
        stream->close(); // the two workers' ends alone keep it open
    std::optional<WorkerEnded> end;
    bool wasStopped = false, isOverTime = false;
    {
        const Terminator terminator(process.child.id(), std::move(stop), launch.timeLimit);
        for (std::string line; std::getline(*process.output, line);) {
            WorkerEvent event = parseEvent(line);
            if (auto* ended = std::get_if<WorkerEnded>(&event))
                end = std::move(*ended);
            else
                onEvent(event);
        }
        waitUnreaped(process.child.id());
        wasStopped = terminator.hasFired();
        isOverTime = terminator.isOverTime();
    } // nobody signals the process any more: its number may go to another
    std::error_code ignored;
    process.child.wait(ignored);
    if (!end)
        end = endOf(process.child, launch.log, wasStopped);
    if (isOverTime && end->state != RunState::Finished) {
        end->state = RunState::Failed;
        end->message = fmt::format("took longer than the time limit of {} s", launch.timeLimit.count());
    }
    return *end;
}

std::vector<DataFound> readData(const fs::path& worker, std::span<const RunConfig> runs, std::stop_token stop) {
    Process process = start(worker, "--check", toLine(runs), {}, -1, "/dev/null");
    std::vector<DataFound> found;
    {
        const Terminator terminator(process.child.id(), std::move(stop), 0s);
        for (std::string line; std::getline(*process.output, line);)
            found.push_back(parseDataFound(line));
        waitUnreaped(process.child.id());
    }
    std::error_code ignored;
    process.child.wait(ignored);
    return found;
}

fs::path findWorker() {
    if (const char* named = std::getenv("DRIFTSCOPE_WORKER"))
        return named;
    const fs::path program = fs::read_symlink("/proc/self/exe");
    for (const fs::path& path :
         {program.parent_path() / "driftscope-worker", program.parent_path() / "../lib/driftscope/driftscope-worker",
          program.parent_path() / "../libexec/driftscope/driftscope-worker"})
        if (fs::exists(path))
            return fs::weakly_canonical(path);
    throw ExecutionError(fmt::format("driftscope-worker, which trains, was not found beside {}; this build has no "
                                     "LibTorch, or set DRIFTSCOPE_WORKER",
                                     program.string()));
}

std::string probeWorker(const fs::path& worker) {
    bp::ipstream output;
    std::error_code error;
    bp::child child(worker.string(), "--probe", bp::std_in < bp::null, bp::std_out > output, bp::std_err > bp::null,
                    error);
    if (error)
        throw ExecutionError(fmt::format("{}: cannot be started: {}", worker.string(), error.message()));
    std::string line;
    std::getline(output, line);
    child.wait(error);
    if (line.empty() || child.exit_code() != 0)
        throw ExecutionError(fmt::format("{}: does not answer", worker.string()));
    return line;
}

} // namespace driftscope
