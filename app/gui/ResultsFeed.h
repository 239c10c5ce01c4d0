// SPDX-License-Identifier: GPL-3.0-or-later
// Keeps a study's results up to date on a thread of its own, and hands them over as snapshots.
#pragma once

#include "analysis/StudyResults.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace driftscope {

class ResultsFeed {
public:
    using Snapshot = std::shared_ptr<const StudyResults>;

    /// Called on the feed's thread. A stop is requested where nobody waits for the results any more.
    using Open = std::function<LiveResults(const std::stop_token&)>;

    /// All are called on the feed's thread.
    struct Callbacks {
        std::function<void(Snapshot)> opened; ///< once, before anything has been compared
        std::function<void(Snapshot)> updated;
        std::function<void(std::string)> failed;  ///< could not be opened; nothing follows
        std::function<void(std::string)> problem; ///< an update or saving failed; may go on
        std::function<void()> saved;
    };

    /// Opens at once. `open` throws StudyError, RecordingError or ExecutionError.
    ResultsFeed(Open open, int threads, Callbacks callbacks);

    /// Ends between two rows of a comparison, and waits for it.
    ~ResultsFeed();
    ResultsFeed(const ResultsFeed&) = delete;
    ResultsFeed& operator=(const ResultsFeed&) = delete;

    void requestUpdate();
    void setReference(std::size_t run);
    /// Updates, then writes study.h5.
    void requestSave();

private:
    struct Requests {
        bool update = false;
        bool save = false;
        std::optional<std::size_t> reference;
        [[nodiscard]] bool any() const { return update || save || reference; }
    };
    void serve(const std::stop_token& stop);
    void handle(LiveResults& live, const Requests& requests, const std::stop_token& stop);

    Open m_open;
    int m_threads;
    Callbacks m_callbacks;
    std::mutex m_mutex;
    std::condition_variable_any m_changed;
    Requests m_requests;
    std::jthread m_thread; ///< last: ends before what it uses
};

} // namespace driftscope
