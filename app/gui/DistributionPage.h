// SPDX-License-Identifier: GPL-3.0-or-later
// The Distributions view: weights of the selected layer or tensor at the selected step, beside the
// reference's.
#pragma once

#include "DistributionPlot.h"
#include "LatestTask.h"
#include "ViewPage.h"

class QLabel;

namespace driftscope {

class DistributionPage : public ViewPage {
    Q_OBJECT

public:
    explicit DistributionPage(Selection& selection, QWidget* parent = nullptr);

    void setTheme(const Theme& theme) override { m_plot->setTheme(theme); }
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

protected:
    void refresh() override;

private:
    struct Shown {
        Distribution distribution;
        std::size_t run = 0;
        QString problem;
    };
    void show(Shown shown);
    [[nodiscard]] QString summary() const;

    DistributionPlot* m_plot;
    QLabel* m_summary;
    LatestTask<Shown> m_task;
};

} // namespace driftscope
