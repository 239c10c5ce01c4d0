// SPDX-License-Identifier: GPL-3.0-or-later
// The Curves view: the plot, and beside it the layers and tensors to check, and whether the runs'
// float64 twins are drawn.
#pragma once

#include "CurvePlot.h"
#include "LatestTask.h"
#include "ScopeTree.h"

#include "analysis/ViewData.h"

#include <QWidget>

#include <memory>
#include <vector>

class QAction;

namespace driftscope {

class Selection;

class CurvesPage : public QWidget {
    Q_OBJECT

public:
    /// All outlive the page. The scopes' actions check only the model, all layers, or all tensors;
    /// that of the twins is checkable, and enabled by the page where there is one to draw.
    CurvesPage(Selection& selection, const std::vector<QAction*>& scopeActions, QAction& twinCurves,
               QWidget* parent = nullptr);

    void setResults(std::shared_ptr<const StudyResults> results);
    void setMetric(Metric metric);
    void setRuns(std::vector<std::size_t> runs);
    void setLogarithmic(bool isLogarithmic);
    void setTheme(const Theme& theme);
    void checkOnly(ScopeKind kind) { m_scopes->checkOnly(kind); }

    [[nodiscard]] CurvePlot& plot() const { return *m_plot; }

private:
    void refresh();
    void show(CurveView view);
    [[nodiscard]] QString hint() const;

    Selection& m_selection;
    QAction& m_twinCurves;
    CurvePlot* m_plot;
    ScopeTree* m_scopes;
    std::shared_ptr<const StudyResults> m_results;
    CurveChoice m_choice;
    bool m_isLogarithmic = true;
    LatestTask<CurveView> m_task;
};

} // namespace driftscope
