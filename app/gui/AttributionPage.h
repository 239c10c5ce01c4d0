// SPDX-License-Identifier: GPL-3.0-or-later
// The Attribution view: which setting moves which layer, from pairs of runs that differ in it alone.
#pragma once

#include "HeatmapPlot.h"
#include "LatestTask.h"
#include "ViewPage.h"

#include <optional>
#include <stop_token>

class QLabel;

namespace driftscope {

class AttributionPage : public ViewPage {
    Q_OBJECT

public:
    explicit AttributionPage(Selection& selection, QWidget* parent = nullptr);
    ~AttributionPage() override;

    void setTheme(const Theme& theme) override { m_plot->setTheme(theme); }
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

protected:
    void refresh() override;
    void resultsChanged(bool isOther) override;

private:
    struct Shown {
        HeatmapView view;
        QStringList sentences;
    };
    void show(Shown shown);

    HeatmapPlot* m_plot;
    QLabel* m_sentences;
    std::optional<std::size_t> m_finished; ///< how many runs what is shown is made of
    std::stop_source m_stop;    ///< of what the task compares, when the page goes
    LatestTask<Shown> m_task;
};

} // namespace driftscope
