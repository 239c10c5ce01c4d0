// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C and SIGTERM as a stop request, so that what a command has begun is tidied before it ends.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <type_traits>

namespace driftscope::cli {

/// Catches both signals while it lives; leaves them as they were before.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] static bool hasCome();

private:
    using Handler = void (*)(int);
    Handler m_beforeInterrupt, m_beforeTerminate;
};

/// Throws UsageError where the system has no thread left.
std::jthread startThread(std::function<void()> work);

/// work(std::stop_token) on a thread of its own; returns what it returns, or throws what it throws.
template <class Work>
auto untilInterrupted(const Work& work) {
    const Interruption interruption;
    std::stop_source stop;
    std::packaged_task<std::invoke_result_t<const Work&, std::stop_token>()> task(
        [&] { return work(stop.get_token()); });
    auto result = task.get_future();
    const std::jthread thread = startThread([&task] { task(); });
    while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        if (Interruption::hasCome())
            stop.request_stop();
    return result.get();
}

} // namespace driftscope::cli
