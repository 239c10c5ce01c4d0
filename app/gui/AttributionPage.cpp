// SPDX-License-Identifier: GPL-3.0-or-later
#include "AttributionPage.h"

#include "Selection.h"

#include "analysis/AttributionView.h"

#include <QLabel>
#include <QVBoxLayout>

#include <algorithm>

namespace driftscope {

AttributionPage::AttributionPage(Selection& selection, QWidget* parent)
    : ViewPage({QStringLiteral("attribution"), tr("Attribution"),
                tr("Which setting moves which layer: pairs of runs that differ in one setting alone"),
                QStringLiteral("heatmap")},
               selection, parent),
      m_plot(new HeatmapPlot(this)), m_sentences(new QLabel(this)),
      m_task(this, [this](Shown shown) { show(std::move(shown)); }) {
    m_plot->setObjectName(QStringLiteral("attributionPlot"));
    m_plot->setAccessibleName(tr("Divergence by setting and layer"));
    m_sentences->setObjectName(QStringLiteral("attributionSentences"));
    m_sentences->setTextFormat(Qt::PlainText);
    m_sentences->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_sentences->setWordWrap(true);
    m_sentences->setMargin(8);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_plot, 1);
    layout->addWidget(m_sentences);
    m_plot->setHint(tr("Open a study with axes, and what each of them does appears here."));
}

AttributionPage::~AttributionPage() {
    m_stop.request_stop();
}

QByteArray AttributionPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->view(), format, size);
}

void AttributionPage::resultsChanged(bool isOther) {
    if (isOther)
        m_finished.reset();
}

/// Only finished runs count, so that nothing is compared again while others go on.
void AttributionPage::refresh() {
    const auto finished = static_cast<std::size_t>(std::ranges::count_if(
        results()->runs, [](const RunResult& run) { return run.state == RunState::Finished; }));
    if (results()->folder.study.axes.empty()) {
        show({});
        return;
    }
    if (finished == m_finished)
        return;
    m_finished = finished;
    m_plot->setHint(tr("Comparing pairs of runs…"));
    m_task.request([results = results(), stop = m_stop.get_token()]() -> Shown {
        const Attribution attribution = attribute(*results, 1, stop);
        Shown shown{makeAttributionView(*results, attribution), {}};
        for (const std::string& sentence : attributionSentences(attribution))
            shown.sentences << QString::fromStdString(sentence);
        return shown;
    });
}

void AttributionPage::show(Shown shown) {
    const bool isEmpty = shown.sentences.isEmpty();
    m_plot->setView(std::move(shown.view));
    m_plot->setHint(isEmpty ? tr("This needs a study with axes: settings that vary from run to run.") : QString());
    m_sentences->setText(shown.sentences.join(QLatin1Char('\n')));
    m_sentences->setVisible(!isEmpty);
}

} // namespace driftscope
