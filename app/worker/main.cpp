// SPDX-License-Identifier: GPL-3.0-or-later
// driftscope-worker: trains one run in a process of its own, for LibTorch's settings are the process's.
//   --run    a WorkerRequest on stdin, WorkerEvents on stdout
//   --check  several configurations on stdin, what was found of the data of each on stdout
//   --probe  the environment fingerprint on stdout
#include "execution/WorkerProtocol.h"
#include "training/Hardware.h"
#include "training/SampleCheck.h"
#include "training/Trainer.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <limits>
#include <malloc.h>
#include <new>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace driftscope;
using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t stopRequested = 0;

/// The protocol's own descriptor: what libraries print to stdout goes to stderr instead.
class EventStream {
public:
    EventStream() : m_fd(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }
    template <class Message>
    void send(const Message& message) const {
        const std::string line = toLine(message) + '\n';
        // if nobody listens any more, the run is recorded all the same
        [[maybe_unused]] const ssize_t written = ::write(m_fd, line.data(), line.size());
    }

private:
    int m_fd;
};

std::int64_t peakMemoryBytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

WorkerEnded runTraining(const std::string& line, const EventStream& events) {
    Clock::time_point start = Clock::now();
    Clock::time_point lastSent{};
    bool isTrial = false; // whoever started it counts the steps
    const TrainingObserver observer{
        .started =
            [&](std::int64_t steps, int threads, std::uint64_t recordedBytes) {
                events.send(WorkerStarted{steps, threads, recordedBytes});
                start = Clock::now();
            },
        .stepped =
            [&](std::int64_t step, double loss) {
                if (!isTrial && Clock::now() - lastSent < std::chrono::milliseconds(30))
                    return;
                lastSent = Clock::now();
                events.send(WorkerStepped{step, loss});
            },
        .isStopped = [] { return stopRequested != 0; },
    };
    WorkerEnded end;
    try {
        const WorkerRequest request = parseRequest(line);
        isTrial = request.trialSteps > 0;
        TrainingOutput output{.file = request.file,
                              .referenceFile = request.referenceFile,
                              .trialSteps = request.trialSteps,
                              .trace = request.trace};
        if (request.stream == StreamUse::Compare)
            output.referenceStream = request.streamDescriptor;
        if (request.stream == StreamUse::Feed)
            output.stream = request.streamDescriptor;
        end.state = train(request.config, output, observer);
        if (end.state == RunState::Cancelled)
            end.message = "stopped";
    } catch (const Unavailable& reason) {
        end = {RunState::Unavailable, reason.what(), 0, 0};
    } catch (const std::exception& error) {
        const std::string_view what = error.what(); // LibTorch appends a stack trace
        end = {RunState::Failed, std::string(what.substr(0, what.find('\n'))), 0, 0};
        std::cerr << what << '\n';
    }
    end.trainingSeconds = std::chrono::duration<double>(Clock::now() - start).count();
    end.peakMemoryBytes = peakMemoryBytes();
    return end;
}

DataFound findData(const RunConfig& config) {
    try {
        return {checkedSamples(config)};
    } catch (const std::bad_alloc&) {
        return {0, (config.data.path.empty() ? config.data.kind : config.data.path) +
                       ": does not fit into this machine's memory; use [data] limit"};
    } catch (const std::exception& error) {
        const std::string_view what = error.what(); // LibTorch appends a stack trace
        return {0, std::string(what.substr(0, what.find('\n')))};
    }
}

int checkData(const std::string& line, const EventStream& events) {
    try {
        for (const RunConfig& config : parseDataRequest(line)) {
            const DataFound found = findData(config);
            events.send(found);
            if (!found.problem.empty())
                return 1;
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 2;
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view mode = argc == 2 ? argv[1] : "";
    if (mode == "--probe") {
        std::cout << environmentFingerprint() << std::endl;
        return 0;
    }
    if (mode != "--run" && mode != "--check") {
        std::cerr << "driftscope-worker is started by driftscope and driftscope-cli; see driftscope-cli run\n";
        return 2;
    }
    // Every step frees and takes the same large buffers. Kept instead of given back to the system each time, they
    // need not be zeroed by it again: measured, a step of 1 M parameters takes two thirds of the time.
    ::mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
    ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
    if (mode == "--run")
        std::signal(SIGTERM, [](int) { stopRequested = 1; });
    std::signal(SIGPIPE, SIG_IGN);
    const EventStream events;
    std::string line;
    std::getline(std::cin, line);
    if (mode == "--check")
        return checkData(line, events);
    const WorkerEnded end = runTraining(line, events);
    events.send(end);
    return end.state == RunState::Finished || end.state == RunState::Cancelled ? 0 : 1;
}
