// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of one run, in a few lines.
#pragma once

#include "analysis/StudyResults.h"

#include <QTextBrowser>

#include <optional>

namespace driftscope {

class RunDetails : public QTextBrowser {
    Q_OBJECT

public:
    explicit RunDetails(QWidget* parent = nullptr);

    void showRun(const StudyResults* results, std::optional<std::size_t> run);
};

} // namespace driftscope
