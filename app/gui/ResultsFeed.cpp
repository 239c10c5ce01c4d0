// SPDX-License-Identifier: GPL-3.0-or-later
#include "ResultsFeed.h"

#include <chrono>

namespace driftscope {
namespace {

/// The least time between two updates: more would only cost the runs their cores.
constexpr std::chrono::milliseconds pause{150};

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
    const bool hasChanged = live.update(m_threads, stop);
    if (stop.stop_requested())
        return;
    if (hasChanged || requests.reference)
        m_callbacks.updated(std::make_shared<const StudyResults>(live.results()));
    if (requests.save) {
        saveResults(live.results());
        m_callbacks.saved();
    }
}

} // namespace driftscope
