// SPDX-License-Identifier: GPL-3.0-or-later
// Ctrl-C and SIGTERM as a stop request, so that what a command has begun is tidied before it ends.
#pragma once

#include <chrono>
#include <future>
#include <stop_token>
#include <type_traits>

namespace driftscope::cli {

/// Catches both signals while it lives.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    [[nodiscard]] static bool hasCome();
};

/// work(std::stop_token) on a thread of its own; returns what it returns.
template <class Work>
auto untilInterrupted(const Work& work) {
    const Interruption interruption;
    std::stop_source stop;
    auto result = std::async(std::launch::async, [&] { return work(stop.get_token()); });
    while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        if (Interruption::hasCome())
            stop.request_stop();
    return result.get();
}

} // namespace driftscope::cli
