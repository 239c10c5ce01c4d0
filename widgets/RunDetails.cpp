// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunDetails.h"

#include "RunText.h"

#include "analysis/ViewData.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QScrollBar>

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

} // namespace

RunDetails::RunDetails(QWidget* parent) : QTextBrowser(parent) {
    setOpenLinks(false);
    setFrameShape(QFrame::NoFrame);
    document()->setDocumentMargin(8);
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
    QString html =
        QStringLiteral("<h3>%1</h3><table>").arg(runName(*results, *run).toHtmlEscaped());
    html += row(tr("State"), stateText(result.state).toHtmlEscaped());
    if (!result.message.empty())
        html += row(tr("Message"), escaped(result.message));
    if (!result.comparisonProblem.empty())
        html += row(tr("Not compared"), escaped(result.comparisonProblem));
    if (!result.reference)
        html += row(tr("Role"), tr("the reference: the other runs are compared with it"));
    else
        html += row(tr("Reference"), runName(*results, *result.reference).toHtmlEscaped());
    if (result.comparison && result.comparison->rows() > 0) {
        html += row(tr("First divergence"), firstDivergence(*result.comparison));
        html += row(tr("At step %1").arg(result.comparison->steps.back()),
                    finalValues(*result.comparison));
    }
    if (!result.verdict.kind.empty()) {
        QStringList evidence;
        for (const Evidence& each : result.verdict.evidence)
            evidence << escaped(each.text);
        html += row(tr("Verdict"), QStringLiteral("<b>%1</b><br>%2")
                                       .arg(escaped(result.verdict.kind), escaped(result.verdict.summary)));
        html += row(tr("Evidence"), evidence.join(QStringLiteral("<br>")));
    }
    const RunConfig& config = result.config;
    html += row(tr("Data"), tr("%1, batch %2, %3")
                                .arg(escaped(config.data.kind))
                                .arg(config.train.batch)
                                .arg(escaped(config.train.order)));
    if (const QString line = environmentLine(result.environment); !line.isEmpty())
        html += row(tr("Environment"), line);
    // Live updates must not throw the reader back to the top.
    const int scrolled = verticalScrollBar()->value();
    setHtml(html + QStringLiteral("</table>"));
    verticalScrollBar()->setValue(scrolled);
}

} // namespace driftscope
