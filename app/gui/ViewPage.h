// SPDX-License-Identifier: GPL-3.0-or-later
// One of the window's views of the open study. It is handed what is shared by all (results, metric,
// checked runs, theme) and refreshes itself only while it can be seen.
#pragma once

#include "Theme.h"
#include "ViewExport.h"

#include "analysis/StudyResults.h"

#include <QWidget>

#include <memory>
#include <vector>

namespace driftscope {

class PlotWidget;
class Selection;

class ViewPage : public QWidget {
    Q_OBJECT

public:
    using Results = std::shared_ptr<const StudyResults>;

    struct Info {
        QString id;    ///< "curves": names of actions and files, and --view
        QString title; ///< of its tab
        QString tip;
        QString icon;  ///< a file of resources/icons, without the ending
    };

    [[nodiscard]] const Info& info() const { return m_info; }

    void setResults(Results results);
    void setMetric(Metric metric);
    /// Those that are checked in the tree of runs.
    void setRuns(std::vector<std::size_t> runs);

    virtual void setTheme(const Theme& theme) = 0;

    /// What is shown, as a file. Throws ExportError where there is nothing, or no such format.
    [[nodiscard]] virtual QByteArray exported(ExportFormat format, QSize size) const = 0;

    /// The plots it has, for what can be done with any plot.
    [[nodiscard]] virtual std::vector<PlotWidget*> plots() const { return {}; }

signals:
    /// A link was followed: to the view with this id.
    void viewRequested(const QString& id);
    void problem(const QString& message);

protected:
    /// The selection outlives the page.
    ViewPage(Info info, Selection& selection, QWidget* parent);

    [[nodiscard]] Selection& selection() const { return m_selection; }
    [[nodiscard]] const Results& results() const { return m_results; } ///< nullptr: no study yet
    [[nodiscard]] Metric metric() const { return m_metric; }
    [[nodiscard]] const std::vector<std::size_t>& runs() const { return m_runs; }

    /// Something that is shown has changed: refresh() now, or when the page is seen again.
    void invalidate();
    /// Called with results only. Anything that takes long belongs on a LatestTask.
    virtual void refresh() = 0;
    /// New results are there; refresh() follows if they are seen. `isOther`: of another study.
    virtual void resultsChanged(bool isOther) { Q_UNUSED(isOther) }

    void showEvent(QShowEvent* event) override;

private:
    Info m_info;
    Selection& m_selection;
    Results m_results;
    Metric m_metric = Metric::RelativeL2;
    std::vector<std::size_t> m_runs;
    bool m_isStale = false;
};

} // namespace driftscope
