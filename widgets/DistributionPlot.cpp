// SPDX-License-Identifier: GPL-3.0-or-later
#include "DistributionPlot.h"

#include <QLocale>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace driftscope {

DistributionPlot::DistributionPlot(QWidget* parent) : PlotWidget(parent) {
    QCustomPlot& p = plot();
    p.plotLayout()->clear();
    p.setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    p.setAutoAddPlottableToLegend(false);
    m_upper = new QCPAxisRect(&p);
    m_lower = new QCPAxisRect(&p);
    auto* margins = new QCPMarginGroup(&p);
    for (QCPAxisRect* rect : {m_upper, m_lower}) {
        rect->setMarginGroup(QCP::msLeft | QCP::msRight, margins);
        rect->setMinimumMargins(QMargins(16, 8, 24, 8));
        rect->setRangeDrag(Qt::Horizontal);
        rect->setRangeZoom(Qt::Horizontal);
        rect->axis(QCPAxis::atLeft)->setNumberFormat(QStringLiteral("gb"));
        rect->axis(QCPAxis::atLeft)->setNumberPrecision(4);
        rect->axis(QCPAxis::atBottom)->setNumberFormat(QStringLiteral("gb"));
        rect->axis(QCPAxis::atBottom)->setNumberPrecision(3);
        rect->axis(QCPAxis::atLeft)->setLabel(tr("elements"));
    }
    m_upper->axis(QCPAxis::atBottom)->setLabel(tr("weight"));
    m_lower->axis(QCPAxis::atBottom)->setLabel(tr("run − reference (weight units)"));
    p.plotLayout()->addElement(0, 0, title());
    auto* legend = new QCPLegend;
    p.plotLayout()->addElement(1, 0, legend);
    p.plotLayout()->addElement(2, 0, m_upper);
    p.plotLayout()->addElement(3, 0, m_lower);
    p.plotLayout()->setRowStretchFactor(1, 0.001);
    legend->setObjectName(QStringLiteral("distributionLegend"));
    legend->setFillOrder(QCPLegend::foColumnsFirst);
    legend->setBorderPen(Qt::NoPen);
    legend->setBrush(Qt::NoBrush);
    legend->setLayer(QStringLiteral("legend"));
    m_ofReference = addSteps(*m_upper);
    m_ofRun = addSteps(*m_upper);
    m_ofDifference = addSteps(*m_lower);
    p.legend = legend;
    setTheme(Theme::light());
}

QCPGraph* DistributionPlot::addSteps(QCPAxisRect& rect) {
    QCPGraph* graph = plot().addGraph(rect.axis(QCPAxis::atBottom), rect.axis(QCPAxis::atLeft));
    graph->setLineStyle(QCPGraph::lsStepLeft);
    return graph;
}

/// A point at each bin's lower edge, and one that ends the last bin.
void DistributionPlot::fill(QCPGraph& graph, const Histogram& histogram) const {
    graph.data()->clear();
    const std::size_t bins = histogram.counts.size();
    if (bins == 0)
        return;
    const bool isPoint = histogram.low == histogram.high;
    const double width = isPoint ? std::max(std::abs(histogram.low) * 1e-3, 1e-12) : 0;
    for (std::size_t bin = 0; bin < bins; ++bin)
        graph.addData(histogram.edge(bin) - width, static_cast<double>(histogram.counts[bin]));
    graph.addData(histogram.high + width, static_cast<double>(histogram.counts.back()));
}

void DistributionPlot::setDistribution(Distribution distribution, std::size_t run) {
    m_distribution = std::move(distribution);
    m_run = run;
    title()->setText(QString::fromStdString(m_distribution.title));
    fill(*m_ofRun, m_distribution.run);
    const bool hasReference = !m_distribution.referenceName.empty();
    fill(*m_ofReference, hasReference ? m_distribution.reference : Histogram{});
    fill(*m_ofDifference, m_distribution.difference);
    m_lower->axis(QCPAxis::atLeft)
        ->setLabel(tr("elements that differ (%1 equal)").arg(QLocale().toString(static_cast<qulonglong>(m_distribution.identical))));
    m_lower->setVisible(hasReference);
    m_ofDifference->setVisible(hasReference);
    m_ofRun->setName(QString::fromStdString(m_distribution.runName));
    m_ofReference->setName(tr("%1 (reference)").arg(QString::fromStdString(m_distribution.referenceName)));
    plot().legend->clearItems();
    m_ofRun->addToLegend();
    if (hasReference)
        m_ofReference->addToLegend();
    applyTheme();
    resetZoom();
}

void DistributionPlot::resetZoom() {
    const auto fit = [](QCPAxisRect& rect, const Histogram& bins, const Histogram& others) {
        std::uint64_t most = 1;
        for (const Histogram* histogram : {&bins, &others})
            for (const std::uint64_t count : histogram->counts)
                most = std::max(most, count);
        const double width = bins.high - bins.low;
        const double pad = width > 0 ? 0.02 * width : std::max(std::abs(bins.high) * 0.01, 1e-9);
        rect.axis(QCPAxis::atBottom)->setRange(bins.low - pad, bins.high + pad);
        rect.axis(QCPAxis::atLeft)->setRange(0, 1.06 * static_cast<double>(most));
    };
    fit(*m_upper, m_distribution.run, m_distribution.reference);
    fit(*m_lower, m_distribution.difference, {});
    scheduleReplot();
}

QString DistributionPlot::readoutAt(QPoint point) {
    const bool isUpper = m_upper->rect().contains(point);
    if (!isUpper && !(m_lower->visible() && m_lower->rect().contains(point)))
        return {};
    const Histogram& histogram = isUpper ? m_distribution.run : m_distribution.difference;
    const double at = (isUpper ? m_upper : m_lower)->axis(QCPAxis::atBottom)->pixelToCoord(point.x());
    if (histogram.counts.empty() || at < histogram.low || at > histogram.high)
        return {};
    const auto bins = static_cast<double>(histogram.counts.size());
    const double share = histogram.high > histogram.low ? (at - histogram.low) / (histogram.high - histogram.low) : 0;
    const auto bin = std::min(histogram.counts.size() - 1, static_cast<std::size_t>(share * bins));
    const QString range = tr("%1 to %2").arg(histogram.edge(bin), 0, 'g', 4).arg(histogram.edge(bin + 1), 0, 'g', 4);
    const QLocale locale;
    const auto count = [&](const Histogram& of) { return locale.toString(static_cast<qulonglong>(of.counts[bin])); };
    if (!isUpper)
        return tr("<b>%1</b><br>%2 elements").arg(range, count(histogram));
    QString text = tr("<b>%1</b><br>%2: %3 elements")
                       .arg(range, QString::fromStdString(m_distribution.runName).toHtmlEscaped(), count(histogram));
    if (!m_distribution.referenceName.empty())
        text += tr("<br>%1: %2 elements")
                    .arg(QString::fromStdString(m_distribution.referenceName).toHtmlEscaped(), count(m_distribution.reference));
    return text;
}

void DistributionPlot::applyTheme() {
    for (QCPAxisRect* rect : {m_upper, m_lower})
        for (const auto side : {QCPAxis::atBottom, QCPAxis::atLeft})
            styleAxis(*rect->axis(side));
    const auto paint = [](QCPGraph& graph, QColor color, Qt::PenStyle style) {
        graph.setPen(QPen(color, 2, style));
        color.setAlphaF(0.18F);
        graph.setBrush(color);
    };
    paint(*m_ofRun, theme().runColor(m_run), Qt::SolidLine);
    paint(*m_ofReference, theme().mutedText, Qt::DashLine);
    paint(*m_ofDifference, theme().runColor(m_run), Qt::SolidLine);
    plot().legend->setFont(plotFont());
    plot().legend->setTextColor(theme().text);
}

} // namespace driftscope
