// SPDX-License-Identifier: GPL-3.0-or-later
#include "ProgressLine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace driftscope::cli {

ProgressLine::ProgressLine(const StudyFolder& folder, std::size_t total, bool isTerminal)
    : m_folder(folder), m_total(total), m_isTerminal(isTerminal), m_statuses(folder.runs.size()) {}

void ProgressLine::clear() const {
    if (m_isTerminal)
        fmt::print(stderr, "\r\033[K");
}

void ProgressLine::say(const std::string& text) {
    clear();
    fmt::print(stderr, "{}\n", text);
    draw();
}

void ProgressLine::update(const RunStatus& status) {
    RunStatus& known = m_statuses[status.run];
    const bool hasEnded = status.state && *status.state != RunState::Running && known.state != status.state;
    known = status;
    if (hasEnded) {
        ++m_ended;
        std::string text = fmt::format("[{}/{}] {}: {}, {:.1f} s", m_ended, m_total,
                                       label(m_folder.runs[status.run]), nameOf(*status.state), status.seconds);
        if (!status.message.empty())
            text += ": " + status.message;
        say(text);
    } else {
        draw();
    }
}

/// Share of the work that is done, each run counting alike.
double ProgressLine::share() const {
    double done = 0;
    for (const RunStatus& status : m_statuses) {
        if (status.state && *status.state != RunState::Running)
            done += 1;
        else if (status.steps > 0)
            done += static_cast<double>(status.step) / static_cast<double>(status.steps);
    }
    return done / static_cast<double>(m_total);
}

void ProgressLine::draw() {
    if (!m_isTerminal)
        return;
    constexpr std::size_t width = 30;
    const double done = share();
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - m_start).count();
    const auto filled = static_cast<std::size_t>(done * width);
    std::string left;
    if (done > 0.02)
        left = fmt::format(", about {:.0f} s left", elapsed * (1 - done) / done);
    clear();
    fmt::print(stderr, "[{}{}] {:3.0f} %, {} of {} runs{}", std::string(filled, '#'),
               std::string(width - filled, '.'), done * 100, m_ended, m_total, left);
    std::fflush(stderr);
}

void ProgressLine::finish() { clear(); }

} // namespace driftscope::cli
