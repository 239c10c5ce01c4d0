// SPDX-License-Identifier: GPL-3.0-or-later
// Computes on a thread of its own and hands the result to the GUI thread. A new request replaces
// one that waits, so that at most one is computed and the latest always is.
#pragma once

#include <QObject>
#include <QThreadPool>

#include <functional>
#include <memory>
#include <utility>

namespace driftscope {

/// A member of its context; request() and `deliver` run on the context's thread.
template <class Result>
class LatestTask {
public:
    using Work = std::function<Result()>; ///< must not throw

    LatestTask(QObject* context, std::function<void(Result)> deliver)
        : m_context(context), m_deliver(std::move(deliver)) {
        m_pool.setMaxThreadCount(1);
    }
    ~LatestTask() { m_pool.waitForDone(); }
    LatestTask(const LatestTask&) = delete;
    LatestTask& operator=(const LatestTask&) = delete;

    void request(Work work) {
        if (m_isBusy) {
            m_next = std::move(work);
            return;
        }
        m_isBusy = true;
        m_pool.start([this, work = std::move(work)] {
            auto result = std::make_shared<Result>(work());
            QMetaObject::invokeMethod(
                m_context, [this, result] { finish(std::move(*result)); }, Qt::QueuedConnection);
        });
    }

private:
    void finish(Result result) {
        m_isBusy = false;
        if (Work next = std::exchange(m_next, nullptr))
            request(std::move(next));
        m_deliver(std::move(result));
    }

    QObject* m_context;
    std::function<void(Result)> m_deliver;
    bool m_isBusy = false;
    Work m_next; ///< empty: none waits
    QThreadPool m_pool;
};

} // namespace driftscope
