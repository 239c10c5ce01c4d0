// SPDX-License-Identifier: GPL-3.0-or-later
// Progress of a study on stderr: a bar that redraws itself on a terminal, else a line per ended run.
#pragma once

#include "execution/RunManager.h"

#include <chrono>
#include <string>
#include <vector>

namespace driftscope::cli {

class ProgressLine {
public:
    ProgressLine(const StudyFolder& folder, bool isTerminal);

    void update(const RunStatus& status);
    void say(const std::string& text);
    void finish();

private:
    void draw();
    void clear() const;
    [[nodiscard]] double share() const;

    const StudyFolder& m_folder;
    bool m_isTerminal;
    std::vector<RunStatus> m_statuses;
    std::size_t m_ended = 0;
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

} // namespace driftscope::cli
