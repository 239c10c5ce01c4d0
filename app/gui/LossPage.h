// SPDX-License-Identifier: GPL-3.0-or-later
// The Loss view: what every run records once a step, or how far that is from the reference's.
#pragma once

#include "CurvePlot.h"
#include "LatestTask.h"
#include "ViewPage.h"

class QCheckBox;
class QComboBox;

namespace driftscope {

class LossPage : public ViewPage {
    Q_OBJECT

public:
    explicit LossPage(Selection& selection, QWidget* parent = nullptr);

    void setTheme(const Theme& theme) override;
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

protected:
    void refresh() override;

private:
    void show(CurveView view);
    [[nodiscard]] QString hint() const;

    CurvePlot* m_plot;
    QComboBox* m_quantity;
    QCheckBox* m_differences;
    QCheckBox* m_logarithmic;
    LatestTask<CurveView> m_task;
};

} // namespace driftscope
