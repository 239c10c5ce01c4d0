// SPDX-License-Identifier: GPL-3.0-or-later
#include "ResultsFeed.h"

#include <chrono>
#include <functional>
#include <utility>

namespace driftscope {
namespace {

/// The least time between two updates: more would only cost the runs their cores.
constexpr std::chrono::milliseconds pause{150};

/// How long a comparison goes on before what there is of it is handed over: the first curves of a large study come at once.
constexpr std::chrono::milliseconds firstSlice{250};
constexpr std::chrono::milliseconds laterSlice{1000};

/// Its token asks for a stop after a while, or when the outer one does.
class TimeSlice {
public:
    TimeSlice(const std::stop_token& outer, std::chrono::milliseconds length)
        : m_forward(outer, [this] { m_source.request_stop(); }),
          m_timer([this, length](const std::stop_token& ended) {
              std::mutex mutex;
              std::unique_lock held(mutex);
              std::condition_variable_any sleep;
              sleep.wait_for(held, ended, length, [] { return false; });
              if (!ended.stop_requested())
                  m_source.request_stop();
          }) {}

    [[nodiscard]] std::stop_token token() const { return m_source.get_token(); }
    [[nodiscard]] bool isOver() const { return m_source.stop_requested(); }

private:
    std::stop_source m_source;
    std::stop_callback<std::function<void()>> m_forward;
    std::jthread m_timer; ///< last: ends before what it uses
};

} // namespace

ResultsFeed::ResultsFeed(Open open, int threads, Callbacks callbacks)
    : m_open(std::move(open)), m_threads(threads), m_callbacks(std::move(callbacks)) {
    m_requests.update = true;
    m_thread = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

ResultsFeed::~ResultsFeed() = default;

void ResultsFeed::requestUpdate() {
    {
        const std::lock_guard held(m_mutex);
        m_requests.update = true;
    }
    m_changed.notify_one();
}

void ResultsFeed::setReference(std::size_t run) {
    {
        const std::lock_guard held(m_mutex);
        m_requests.reference = run;
    }
    m_changed.notify_one();
}

void ResultsFeed::requestSave() {
    {
        const std::lock_guard held(m_mutex);
        m_requests.save = true;
    }
    m_changed.notify_one();
}

void ResultsFeed::serve(const std::stop_token& stop) {
    std::optional<LiveResults> live;
    try {
        live.emplace(m_open(stop));
    } catch (const std::exception& error) {
        m_callbacks.failed(error.what());
        return;
    }
    m_callbacks.opened(std::make_shared<const StudyResults>(live->results()));
    while (!stop.stop_requested()) {
        Requests requests;
        {
            std::unique_lock held(m_mutex);
            if (!m_changed.wait(held, stop, [this] { return m_requests.any(); }))
                return;
            std::swap(requests, m_requests);
        }
        try {
            handle(*live, requests, stop);
        } catch (const std::exception& error) {
            m_callbacks.problem(error.what());
        }
        std::unique_lock held(m_mutex);
        m_changed.wait_for(held, stop, pause,
                           [this] { return m_requests.save || m_requests.reference; });
    }
}

void ResultsFeed::handle(LiveResults& live, const Requests& requests, const std::stop_token& stop) {
    if (requests.reference)
        live.setReference(*requests.reference);
    bool hasMore = true;
    for (auto length = firstSlice; hasMore; length = laterSlice) {
        const TimeSlice slice(stop, length);
        const bool hasChanged = live.update(m_threads, slice.token());
        if (stop.stop_requested())
            return;
        hasMore = slice.isOver();
        if (hasChanged || requests.reference)
            m_callbacks.updated(std::make_shared<const StudyResults>(live.results()));
    }
    if (requests.save) {
        saveResults(live.results());
        m_callbacks.saved();
    }
}

} // namespace driftscope
