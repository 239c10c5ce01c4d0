// SPDX-License-Identifier: GPL-3.0-or-later
#include "UlpPage.h"

#include "Selection.h"
#include "ViewDefaults.h"

#include "analysis/UlpHeatmap.h"

#include <QVBoxLayout>

namespace driftscope {

UlpPage::UlpPage(Selection& selection, QWidget* parent)
    : ViewPage({QStringLiteral("ulp"), tr("ULP"),
                tr("How many units in the last place the elements are off, at every step"), QStringLiteral("heatmap")},
               selection, parent),
      m_plot(new HeatmapPlot(this)), m_task(this, [this](Shown shown) { show(std::move(shown)); }) {
    m_plot->setObjectName(QStringLiteral("ulpPlot"));
    m_plot->setAccessibleName(tr("Histogram of distances in ULP over steps"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_plot);
    connect(&selection, &Selection::runChanged, this, &UlpPage::invalidate);
    connect(&selection, &Selection::scopeChanged, this, &UlpPage::invalidate);
    connect(&selection, &Selection::stepChanged, this,
            [this] { m_plot->setMarkedStep(this->selection().step()); });
    connect(m_plot, &PlotWidget::stepPicked, &selection, &Selection::setStep);
    m_plot->setHint(hint());
}

UlpPage::~UlpPage() {
    m_stop.request_stop();
}

QByteArray UlpPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->view(), format, size);
}

void UlpPage::refresh() {
    UlpChoice choice;
    choice.run = selection().run().value_or(mostDivergentRun(*results(), metric()).value_or(0));
    choice.scope = selection().scope().value_or(Scope{});
    m_task.request([results = results(), choice, stop = m_stop.get_token()]() -> Shown {
        try {
            return {makeUlpHeatmap(*results, choice, stop), {}};
        } catch (const std::exception& error) {
            return {{}, QString::fromUtf8(error.what())};
        }
    });
}

void UlpPage::show(Shown shown) {
    const bool isEmpty = shown.view.panels.empty() || shown.view.panels.front().cells.empty();
    m_plot->setView(std::move(shown.view));
    m_plot->setHint(!shown.problem.isEmpty() ? shown.problem : isEmpty ? hint() : QString());
}

QString UlpPage::hint() const {
    const auto run = selection().run();
    if (results() && run && *run < results()->runs.size() && !results()->runs[*run].reference)
        return tr("The reference is not compared with itself. Select another run in the tree on the left.");
    return tr("The histogram appears when the reference and another run have recorded steps.");
}

} // namespace driftscope
