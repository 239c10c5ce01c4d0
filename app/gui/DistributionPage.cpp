// SPDX-License-Identifier: GPL-3.0-or-later
#include "DistributionPage.h"

#include "Selection.h"
#include "ViewDefaults.h"

#include "analysis/ViewData.h"

#include <QLabel>
#include <QLocale>
#include <QVBoxLayout>

namespace driftscope {

DistributionPage::DistributionPage(Selection& selection, QWidget* parent)
    : ViewPage({QStringLiteral("distributions"), tr("Distributions"),
                tr("Weights of the selected layer or tensor at a step, beside the reference's"),
                QStringLiteral("heatmap")},
               selection, parent),
      m_plot(new DistributionPlot(this)), m_summary(new QLabel(this)),
      m_task(this, [this](Shown shown) { show(std::move(shown)); }) {
    m_plot->setObjectName(QStringLiteral("distributionPlot"));
    m_plot->setAccessibleName(tr("Histograms of weights and of their differences"));
    m_summary->setObjectName(QStringLiteral("distributionSummary"));
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_summary->setWordWrap(true);
    m_summary->setMargin(8);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_plot, 1);
    layout->addWidget(m_summary);
    connect(&selection, &Selection::runChanged, this, &DistributionPage::invalidate);
    connect(&selection, &Selection::scopeChanged, this, &DistributionPage::invalidate);
    connect(&selection, &Selection::stepChanged, this, &DistributionPage::invalidate);
    m_plot->setHint(tr("Open a study or run one, and the distribution of its weights appears here."));
}

QByteArray DistributionPage::exported(ExportFormat format, QSize size) const {
    return driftscope::exported(m_plot->distribution(), m_plot->run(), format, size);
}

void DistributionPage::refresh() {
    const std::size_t run = selection().run().value_or(mostDivergentRun(*results(), metric()).value_or(0));
    const Scope scope = selection().scope().value_or(Scope{});
    m_task.request([results = results(), run, scope, step = selection().step()]() -> Shown {
        if (run >= results->runs.size() || results->runs[run].rows == 0)
            return {{}, run, tr("This run has recorded nothing yet.")};
        try {
            return {makeDistribution(*results, run, scope, step), run, {}};
        } catch (const std::exception& error) {
            return {{}, run, QString::fromUtf8(error.what())};
        }
    });
}

void DistributionPage::show(Shown shown) {
    m_plot->setDistribution(std::move(shown.distribution), shown.run);
    m_plot->setHint(shown.problem);
    m_summary->setText(shown.problem.isEmpty() ? summary() : QString());
}

QString DistributionPage::summary() const {
    const Distribution& of = m_plot->distribution();
    const auto number = [](double value) { return QString::fromStdString(shortNumber(value)); };
    const auto moments = [&](const QString& name, const Moments& m) {
        QString line = tr("%1: mean %2, standard deviation %3, from %4 to %5")
                           .arg(name, number(m.mean), number(m.deviation()), number(m.smallest), number(m.largest));
        if (m.nonfinite > 0)
            line += tr(", %n element(s) not finite", nullptr, static_cast<int>(m.nonfinite));
        return line;
    };
    QStringList lines{moments(QString::fromStdString(of.runName), of.ofRun)};
    if (!of.referenceName.empty()) {
        lines << moments(tr("%1 (reference)").arg(QString::fromStdString(of.referenceName)), of.ofReference);
        lines << (of.ofDifference.count + of.ofDifference.nonfinite == 0
                      ? tr("All values are equal.")
                      : moments(tr("Differences of the elements that differ"), of.ofDifference));
    }
    if (of.isSample)
        lines << tr("The files keep a fixed sample of the elements: this is of that sample.");
    return lines.join(QLatin1Char('\n'));
}

} // namespace driftscope
