// SPDX-License-Identifier: GPL-3.0-or-later
#include "ViewPage.h"

#include <utility>

namespace driftscope {

ViewPage::ViewPage(Info info, Selection& selection, QWidget* parent)
    : QWidget(parent), m_info(std::move(info)), m_selection(selection) {
    setObjectName(m_info.id + QStringLiteral("Page"));
    setAccessibleName(m_info.title);
    setAccessibleDescription(m_info.tip);
}

void ViewPage::setResults(Results results) {
    const bool isOther = !m_results || !results || m_results->folder.path != results->folder.path ||
                         m_results->runs.size() != results->runs.size();
    m_results = std::move(results);
    if (m_results)
        resultsChanged(isOther);
    invalidate();
}

void ViewPage::setMetric(Metric metric) {
    m_metric = metric;
    invalidate();
}

void ViewPage::setRuns(std::vector<std::size_t> runs) {
    m_runs = std::move(runs);
    invalidate();
}

void ViewPage::invalidate() {
    m_isStale = !isVisible();
    if (m_results && !m_isStale)
        refresh();
}

void ViewPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_results && std::exchange(m_isStale, false))
        refresh();
}

} // namespace driftscope
