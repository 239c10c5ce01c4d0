// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunText.h"

#include "analysis/ReportText.h"
#include "analysis/ViewData.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>
#include <map>

namespace driftscope {
namespace {

QString tr(const char* text) {
    return QCoreApplication::translate("RunText", text);
}

QString text(std::string_view string) {
    return QString::fromUtf8(string.data(), static_cast<qsizetype>(string.size()));
}

} // namespace

QString runName(const StudyResults& results, std::size_t run) {
    return text(runTitle(results.runs.at(run)));
}

QString metricName(Metric metric) {
    const MetricInfo& info = infoOf(metric);
    return info.unit.empty() ? text(info.title)
                             : QStringLiteral("%1 (%2)").arg(text(info.title), text(info.unit));
}

QString runCount(std::size_t runs) {
    return runs == 1 ? tr("1 run") : tr("%1 runs").arg(runs);
}

QString timeLeft(double seconds) {
    if (seconds < 100)
        return tr("%1 s left").arg(static_cast<int>(seconds + 0.5));
    if (seconds < 6000)
        return tr("%1 min left").arg(static_cast<int>(seconds / 60 + 0.5));
    return tr("%1 h left").arg(seconds / 3600, 0, 'f', 1);
}

QString stateWord(RunState state) {
    switch (state) {
    case RunState::Running:
        return tr("running");
    case RunState::Finished:
        return tr("finished");
    case RunState::Failed:
        return tr("failed");
    case RunState::Cancelled:
        return tr("stopped");
    case RunState::Unavailable:
        return tr("unavailable");
    }
    return {};
}

QString stateText(std::optional<RunState> state) {
    if (!state)
        return tr("◌ waiting");
    static const std::map<RunState, QString> shapes{{RunState::Running, QStringLiteral("▶")},
                                                    {RunState::Finished, QStringLiteral("✓")},
                                                    {RunState::Failed, QStringLiteral("✕")},
                                                    {RunState::Cancelled, QStringLiteral("■")},
                                                    {RunState::Unavailable, QStringLiteral("∅")}};
    return QStringLiteral("%1 %2").arg(shapes.at(*state), stateWord(*state));
}

QString verdictText(const std::string& kind) {
    static constexpr std::array<std::string_view, 8> words{
        QT_TRANSLATE_NOOP("RunText", "identical"),  QT_TRANSLATE_NOOP("RunText", "rounding"),
        QT_TRANSLATE_NOOP("RunText", "precision"),  QT_TRANSLATE_NOOP("RunText", "data"),
        QT_TRANSLATE_NOOP("RunText", "random"),     QT_TRANSLATE_NOOP("RunText", "algorithmic"),
        QT_TRANSLATE_NOOP("RunText", "run-to-run"), QT_TRANSLATE_NOOP("RunText", "inconclusive")};
    if (std::ranges::find(words, kind) == words.end()) // none
        return text(kind);
    return QStringLiteral("%1 %2").arg(text(verdictSymbol(kind)), tr(kind.c_str()));
}

QString divergenceText(const StudyResults& results, std::size_t run, Metric metric) {
    const RunResult& result = results.runs.at(run);
    if (!result.reference)
        return tr("reference");
    if (!result.comparison || result.comparison->rows() == 0)
        return QStringLiteral("–");
    const RunComparison& comparison = *result.comparison;
    if (!comparison.first)
        return tr("= identical");
    return text(shortNumber(comparison.value(metric, comparison.rows() - 1, 0)));
}

} // namespace driftscope
