// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunDetails.h"

#include "RunText.h"

#include "analysis/ReportText.h"
#include "analysis/ViewData.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QScrollBar>

#include <cmath>

namespace driftscope {
namespace {

QString escaped(const std::string& text) {
    return QString::fromStdString(text).toHtmlEscaped();
}

QString row(const QString& name, const QString& html) {
    return QStringLiteral("<tr><td style='padding-right:12px'><b>%1</b></td><td>%2</td></tr>")
        .arg(name, html);
}

QString firstDivergence(const RunComparison& comparison) {
    if (!comparison.first)
        return RunDetails::tr("none: all weights have equal bits");
    const FirstDivergence& first = *comparison.first;
    QString text = RunDetails::tr("step %1").arg(first.step);
    if (const std::string gap = unrecordedBefore(first); !gap.empty())
        text += RunDetails::tr(" (not recorded: %1)").arg(escaped(gap));
    text += RunDetails::tr(", %1").arg(escaped(first.phase));
    if (!first.tensor.empty())
        text += RunDetails::tr(" of %1").arg(escaped(first.tensor));
    return text;
}

QString finalValues(const RunComparison& comparison) {
    QStringList values;
    for (const Metric metric : {Metric::RelativeL2, Metric::MaxAbsolute, Metric::UlpMax})
        values << QStringLiteral("%1: %2").arg(
            metricName(metric).toHtmlEscaped(),
            escaped(shortNumber(comparison.value(metric, comparison.rows() - 1, 0))));
    return values.join(QStringLiteral("<br>"));
}

/// What decides about the bits: processor, LibTorch and its instruction set, BLAS, threads.
QString environmentLine(const std::string& json) {
    const QJsonObject root = QJsonDocument::fromJson(QByteArray::fromStdString(json)).object();
    const auto value = [&](const char* group, const char* key) {
        return root[QLatin1String(group)][QLatin1String(key)].toVariant().toString();
    };
    QStringList parts;
    const auto add = [&](const QString& pattern, const QString& text) {
        if (!text.isEmpty())
            parts << pattern.arg(text).toHtmlEscaped();
    };
    add(QStringLiteral("%1"), value("cpu", "model"));
    add(RunDetails::tr("LibTorch %1"), value("libtorch", "version"));
    add(RunDetails::tr("ISA %1"), value("libtorch", "isa"));
    add(RunDetails::tr("BLAS core %1"), value("blas", "core"));
    add(RunDetails::tr("%1 threads"), value("threads", "intra_op"));
    return parts.join(QStringLiteral(" · "));
}

/// The values of the axes, then what all runs of the study have in common.
QString settingsLine(const RunResult& run) {
    if (!run.isConfigured)
        return RunDetails::tr("not known: another program wrote the file");
    const RunConfig& config = run.config;
    QStringList parts;
    for (const Assignment& setting : config.settings)
        parts << QStringLiteral("%1 %2").arg(escaped(setting.key),
                                             escaped(toText(setting.value)));
    parts << RunDetails::tr("%1 on %2").arg(escaped(config.model.kind), escaped(config.data.kind))
          << RunDetails::tr("batch %1").arg(config.train.batch)
          << RunDetails::tr("order %1").arg(escaped(config.train.order))
          << RunDetails::tr("optimizer %1").arg(escaped(config.train.optimizer))
          << escaped(config.train.dtype);
    return parts.join(QStringLiteral(" · "));
}

/// Three digits, or nothing where there is no number.
QString number(double value) {
    return std::isnan(value) ? QString() : escaped(shortNumber(value));
}

} // namespace

RunDetails::RunDetails(QWidget* parent) : QTextBrowser(parent) {
    setOpenLinks(false);
    setFrameShape(QFrame::NoFrame);
    document()->setDocumentMargin(8);
}

/// In the colour of the kind; other words as they are.
QString RunDetails::kindText(const std::string& kind) const {
    if (verdictSymbol(kind).empty())
        return escaped(kind);
    return QStringLiteral("<span style='color:%1'>%2</span>")
        .arg(m_theme.verdictColor(kind).name(), verdictText(kind).toHtmlEscaped());
}

QString RunDetails::verdictPart(const Verdict& verdict) const {
    if (verdict.kind.empty())
        return {};
    return QStringLiteral("<p><big><b>%1</b></big><br>%2</p>")
        .arg(kindText(verdict.kind), escaped(verdict.summary));
}

QString RunDetails::evidencePart(const Verdict& verdict) const {
    if (verdict.evidence.empty())
        return {};
    QString rows;
    for (const QString& title : {tr("What"), tr("Value"), tr("Threshold"), tr("Says")})
        rows += QStringLiteral("<th align='left' style='color:%1'>%2</th>")
                    .arg(m_theme.mutedText.name(), title.toHtmlEscaped());
    rows = QStringLiteral("<tr>%1</tr>").arg(rows);
    for (const Evidence& evidence : verdict.evidence)
        rows += QStringLiteral("<tr><td><b>%1</b>: %2</td><td>%3</td><td>%4</td><td>%5</td></tr>")
                    .arg(escaped(evidence.name), escaped(evidence.text), number(evidence.value),
                         number(evidence.threshold), kindText(evidence.says));
    return QStringLiteral("<table cellpadding='3' cellspacing='0' width='100%'>%1</table><br>")
        .arg(rows);
}

void RunDetails::showRun(const StudyResults* results, std::optional<std::size_t> run) {
    if (!results || !run || *run >= results->runs.size()) {
        const QString study = results ? QStringLiteral("<h3>%1</h3><p>%2</p>")
                                            .arg(escaped(results->folder.study.name),
                                                 escaped(results->folder.study.description))
                                      : QString();
        setHtml(study + tr("<p>Select a run to see what is known of it.</p>"));
        return;
    }
    const RunResult& result = results->runs[*run];
    QString html = QStringLiteral("<h3>%1</h3>").arg(runName(*results, *run).toHtmlEscaped());
    html += verdictPart(result.verdict) + evidencePart(result.verdict);
    html += QStringLiteral("<table>");
    html += row(tr("State"), stateText(result.state).toHtmlEscaped());
    if (!result.message.empty())
        html += row(tr("Message"), escaped(result.message));
    if (!result.comparisonProblem.empty())
        html += row(tr("Not compared"), escaped(result.comparisonProblem));
    if (result.config.isTwin)
        html += row(tr("Twin"), tr("the same run in float64: evidence for that run's verdict"));
    if (!result.reference)
        html += row(tr("Role"), tr("the reference: the other runs are compared with it"));
    else
        html += row(tr("Reference"), runName(*results, *result.reference).toHtmlEscaped());
    if (result.comparison && result.comparison->rows() > 0) {
        html += row(tr("First divergence"), firstDivergence(*result.comparison));
        html += row(tr("At step %1").arg(result.comparison->steps.back()),
                    finalValues(*result.comparison));
    }
    html += row(tr("Settings"), settingsLine(result));
    if (const QString line = environmentLine(result.environment); !line.isEmpty())
        html += row(tr("Environment"), line);
    // Live updates must not throw the reader back to the top.
    const int scrolled = verticalScrollBar()->value();
    setHtml(html + QStringLiteral("</table>"));
    verticalScrollBar()->setValue(scrolled);
}

} // namespace driftscope
