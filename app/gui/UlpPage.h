// SPDX-License-Identifier: GPL-3.0-or-later
// The ULP view: how many units in the last place the selected run's elements are off, at every step.
#pragma once

#include "HeatmapPlot.h"
#include "LatestTask.h"
#include "ViewPage.h"

namespace driftscope {

class UlpPage : public ViewPage {
    Q_OBJECT

public:
    explicit UlpPage(Selection& selection, QWidget* parent = nullptr);
    ~UlpPage() override;

    void setTheme(const Theme& theme) override { m_plot->setTheme(theme); }
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

protected:
    void refresh() override;

private:
    struct Shown {
        HeatmapView view;
        QString problem;
    };
    void show(Shown shown);
    [[nodiscard]] QString hint() const;

    HeatmapPlot* m_plot;
    std::stop_source m_stop; ///< of what the task reads, when the page goes
    LatestTask<Shown> m_task;
};

} // namespace driftscope
