// SPDX-License-Identifier: GPL-3.0-or-later
// What is found of one run: its verdict and what to do, the evidence, where it parts and how far,
// its settings and surroundings.
#pragma once

#include "Theme.h"

#include "analysis/StudyResults.h"

#include <QTextBrowser>

#include <optional>

namespace driftscope {

class RunDetails : public QTextBrowser {
    Q_OBJECT

public:
    explicit RunDetails(QWidget* parent = nullptr);

    /// Colours what is shown from then on.
    void setTheme(const Theme& theme) { m_theme = theme; }
    void showRun(const StudyResults* results, std::optional<std::size_t> run);

private:
    [[nodiscard]] QString kindText(const std::string& kind) const;
    [[nodiscard]] QString verdictPart(const Verdict& verdict) const;
    [[nodiscard]] QString evidencePart(const Verdict& verdict) const;

    Theme m_theme = Theme::light();
};

} // namespace driftscope
