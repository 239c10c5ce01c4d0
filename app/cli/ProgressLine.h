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
    /// `total` of the folder's runs are being run.
    ProgressLine(const StudyFolder& folder, std::size_t total, bool isTerminal);

    void update(const RunStatus& status);
    void say(const std::string& text);
    void finish();

private:
    void draw();
    void clear() const;
    [[nodiscard]] double share() const;

    const StudyFolder& m_folder;
    std::size_t m_total;
    bool m_isTerminal;
    std::vector<RunStatus> m_statuses;
    std::size_t m_ended = 0;
    std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

} // namespace driftscope::cli
