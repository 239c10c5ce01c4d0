// SPDX-License-Identifier: GPL-3.0-or-later
// The Curves view: the plot, and beside it the layers and tensors to check, and whether the runs'
// float64 twins are drawn.
#pragma once

#include "CurvePlot.h"
#include "LatestTask.h"
#include "ScopeTree.h"
#include "ViewPage.h"

#include "analysis/ViewData.h"

namespace driftscope {

struct Actions;

class CurvesPage : public ViewPage {
    Q_OBJECT

public:
    /// Actions: those of the scopes check only the model, all layers, or all tensors; that of the
    /// twins is enabled by the page where there is one to draw.
    CurvesPage(Selection& selection, Actions& actions, QWidget* parent = nullptr);

    void setTheme(const Theme& theme) override;
    [[nodiscard]] QByteArray exported(ExportFormat format, QSize size) const override;
    [[nodiscard]] std::vector<PlotWidget*> plots() const override { return {m_plot}; }

    [[nodiscard]] CurvePlot& plot() const { return *m_plot; }

protected:
    void refresh() override;
    void resultsChanged(bool isOther) override;

private:
    void show(CurveView view);
    [[nodiscard]] QString hint() const;

    Actions& m_actions;
    CurvePlot* m_plot;
    ScopeTree* m_scopes;
    CurveChoice m_choice;
    LatestTask<CurveView> m_task;
};

} // namespace driftscope
