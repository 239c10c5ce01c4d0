// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunTreeModel.h"

#include "Icons.h"
#include "RunText.h"

#include "analysis/Twins.h"

#include <QBrush>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

// Internal ids: 0 for what lies at the top (a group, or a run where there are no groups), else the
// group's number + 1.
constexpr quintptr top = 0;

bool haveSameRuns(const StudyResults& a, const StudyResults& b) {
    return std::ranges::equal(
               a.runs, b.runs, {}, [](const RunResult& run) { return run.config.id; },
               [](const RunResult& run) { return run.config.id; }) &&
           a.folder.path == b.folder.path;
}

/// "accumulation 2", or a dash for a run without that setting.
QString groupTitle(const RunConfig& run, const std::string& axis) {
    const auto setting = std::ranges::find(run.settings, axis, &Assignment::key);
    if (setting == run.settings.end())
        return QStringLiteral("–");
    return QStringLiteral("%1 %2").arg(QString::fromStdString(setting->key),
                                       QString::fromStdString(valueText(run, *setting)));
}

} // namespace

void RunTreeModel::setResults(std::shared_ptr<const StudyResults> results) {
    const bool isSame = m_results && results && haveSameRuns(*m_results, *results);
    if (isSame) {
        m_results = std::move(results);
        refresh();
        return;
    }
    beginResetModel();
    m_results = std::move(results);
    rebuild();
    endResetModel();
    emit checkedRunsChanged();
}

void RunTreeModel::rebuild() {
    const std::size_t count = m_results ? m_results->runs.size() : 0;
    m_statuses.assign(count, std::nullopt);
    m_secondsLeft.clear();
    m_isChecked.assign(count, true);
    for (std::size_t run = 0; run < count; ++run)
        m_isChecked[run] = !isBesideItsRun(*m_results, run);
    regroup();
}

void RunTreeModel::regroup() {
    const std::size_t count = m_isChecked.size();
    m_groups.clear();
    const std::optional<std::string> axis = groupAxis();
    for (std::size_t run = 0; run < count; ++run) {
        const QString title =
            axis ? groupTitle(m_results->runs[run].config, *axis) : QString();
        auto group = std::ranges::find(m_groups, title, &Group::title);
        if (group == m_groups.end())
            group = m_groups.insert(m_groups.end(), {title, {}});
        group->runs.push_back(run);
    }
    for (Group& group : m_groups)
        std::erase_if(group.runs, [this](std::size_t run) { return !hasRow(run); });
    std::erase_if(m_groups, [](const Group& group) { return group.runs.empty(); });
}

std::vector<std::string> RunTreeModel::axes() const {
    std::vector<std::string> keys;
    if (m_results)
        for (const RunResult& run : m_results->runs)
            for (const Assignment& setting : run.config.settings)
                if (std::ranges::find(keys, setting.key) == keys.end())
                    keys.push_back(setting.key);
    return keys;
}

/// None: runs are a list. With one axis a heading would only repeat its run's name.
std::optional<std::string> RunTreeModel::groupAxis() const {
    const std::vector<std::string> keys = axes();
    if (!m_grouping)
        return keys.size() < 2 ? std::nullopt : std::optional(keys.front());
    return std::ranges::find(keys, *m_grouping) == keys.end() ? std::nullopt : m_grouping;
}

void RunTreeModel::setGrouping(const std::optional<std::string>& axis) {
    if (axis == m_grouping)
        return;
    beginResetModel();
    m_grouping = axis;
    regroup();
    endResetModel();
}

bool RunTreeModel::hasRow(std::size_t run) const {
    return m_showsTwins || !isBesideItsRun(*m_results, run);
}

void RunTreeModel::setShowsTwins(bool showsTwins) {
    if (showsTwins == m_showsTwins)
        return;
    beginResetModel();
    m_showsTwins = showsTwins;
    regroup();
    endResetModel();
    emit checkedRunsChanged();
}

void RunTreeModel::setStatuses(const std::vector<RunStatus>& statuses) {
    for (const RunStatus& status : statuses)
        if (status.run < m_statuses.size())
            m_statuses[status.run] = status;
    refresh(State, Progress);
}

void RunTreeModel::setSecondsLeft(const std::map<std::size_t, double>& seconds) {
    m_secondsLeft = seconds;
    refresh(Progress, Progress);
}

void RunTreeModel::setMetric(Metric metric) {
    m_metric = metric;
    refresh(Divergence, Divergence);
    emit headerDataChanged(Qt::Horizontal, Divergence, Divergence);
}

void RunTreeModel::setTheme(const Theme& theme) {
    m_theme = theme;
    refresh();
}

void RunTreeModel::refresh(int firstColumn, int lastColumn) {
    const int groups = rowCount();
    if (groups == 0)
        return;
    emit dataChanged(index(0, firstColumn), index(groups - 1, lastColumn));
    for (int g = 0; g < groups; ++g) {
        const QModelIndex group = index(g, 0);
        if (const int rows = rowCount(group))
            emit dataChanged(index(0, firstColumn, group), index(rows - 1, lastColumn, group));
    }
}

std::vector<std::size_t> RunTreeModel::checkedRuns() const {
    std::vector<std::size_t> runs;
    for (std::size_t run = 0; run < m_isChecked.size(); ++run)
        if (m_isChecked[run] && hasRow(run))
            runs.push_back(run);
    return runs;
}

void RunTreeModel::setCheckedRuns(const std::vector<std::size_t>& runs) {
    m_isChecked.assign(m_isChecked.size(), false);
    for (const std::size_t run : runs)
        m_isChecked.at(run) = true;
    refresh(Run, Run);
    emit checkedRunsChanged();
}

void RunTreeModel::checkAll() {
    for (std::size_t run = 0; run < m_isChecked.size(); ++run)
        m_isChecked[run] = hasRow(run);
    refresh(Run, Run);
    emit checkedRunsChanged();
}

QModelIndex RunTreeModel::indexOfRun(std::size_t run, int column) const {
    for (std::size_t g = 0; g < m_groups.size(); ++g) {
        const auto& runs = m_groups[g].runs;
        const auto at = std::ranges::find(runs, run);
        if (at != runs.end())
            return createIndex(static_cast<int>(at - runs.begin()), column, isFlat() ? top : g + 1);
    }
    return {};
}

QModelIndex RunTreeModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent))
        return {};
    return createIndex(row, column,
                       parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : top);
}

QModelIndex RunTreeModel::parent(const QModelIndex& child) const {
    if (!child.isValid() || child.internalId() == top)
        return {};
    return createIndex(static_cast<int>(child.internalId()) - 1, 0, top);
}

int RunTreeModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid())
        return static_cast<int>(isFlat() ? m_groups.front().runs.size() : m_groups.size());
    const Group* group = parent.column() == 0 ? groupAt(parent) : nullptr;
    return group ? static_cast<int>(group->runs.size()) : 0;
}

int RunTreeModel::columnCount(const QModelIndex&) const {
    return ColumnCount;
}

const RunTreeModel::Group* RunTreeModel::groupAt(const QModelIndex& index) const {
    return index.isValid() && index.internalId() == top && !isFlat()
               ? &m_groups[static_cast<std::size_t>(index.row())]
               : nullptr;
}

std::optional<std::size_t> RunTreeModel::runAt(const QModelIndex& index) const {
    if (!index.isValid() || groupAt(index))
        return std::nullopt;
    const std::size_t group = isFlat() ? 0 : index.internalId() - 1;
    return m_groups[group].runs[static_cast<std::size_t>(index.row())];
}

Qt::CheckState RunTreeModel::checkState(const Group& group) const {
    const auto checked =
        std::ranges::count_if(group.runs, [&](std::size_t run) { return bool(m_isChecked[run]); });
    return checked == 0                                                ? Qt::Unchecked
           : checked == static_cast<std::ptrdiff_t>(group.runs.size()) ? Qt::Checked
                                                                       : Qt::PartiallyChecked;
}

QVariant RunTreeModel::data(const QModelIndex& index, int role) const {
    if (const std::optional<std::size_t> run = runAt(index))
        return runData(*run, index.column(), role);
    if (const Group* group = groupAt(index))
        return groupData(*group, index.column(), role);
    return {};
}

QVariant RunTreeModel::groupData(const Group& group, int column, int role) const {
    if (column != Run)
        return {};
    if (role == Qt::DisplayRole)
        return group.title;
    if (role == Qt::CheckStateRole)
        return checkState(group);
    if (role == SortRole || role == FilterRole)
        return group.title;
    return {};
}

QVariant RunTreeModel::runData(std::size_t run, int column, int role) const {
    switch (role) {
    case RunRole:
        return static_cast<int>(run);
    case ShareRole:
        return shareOf(run);
    case SortRole:
        return sortKey(run, column);
    case FilterRole:
        return filterText(run);
    case Qt::ToolTipRole:
        return toolTip(run, column);
    case Qt::ForegroundRole:
        return column == Verdict ? verdictColor(run) : QVariant();
    case Qt::DecorationRole:
        return column == Run ? QVariant(runSwatch(m_theme, run)) : QVariant();
    case Qt::CheckStateRole:
        return column == Run ? QVariant(m_isChecked[run] ? Qt::Checked : Qt::Unchecked)
                             : QVariant();
    case Qt::DisplayRole:
        break;
    default:
        return {};
    }
    switch (column) {
    case Run:
        return nameInGroup(run);
    case Verdict:
        return verdictText(m_results->runs[run].verdict.kind);
    case Divergence:
        return divergenceText(run);
    case State:
        return stateText(run);
    case Progress:
        return progressText(run);
    default:
        return {};
    }
}

bool RunTreeModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || index.column() != Run)
        return false;
    const bool isOn = value.toInt() == Qt::Checked;
    if (const std::optional<std::size_t> run = runAt(index))
        m_isChecked[*run] = isOn;
    else if (const Group* group = groupAt(index))
        for (const std::size_t member : group->runs)
            m_isChecked[member] = isOn;
    else
        return false;
    refresh(Run, Run);
    emit checkedRunsChanged();
    return true;
}

Qt::ItemFlags RunTreeModel::flags(const QModelIndex& index) const {
    Qt::ItemFlags flags = QAbstractItemModel::flags(index);
    if (index.isValid() && index.column() == Run)
        flags |= Qt::ItemIsUserCheckable;
    return flags;
}

QVariant RunTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::ToolTipRole && section == Divergence)
        return tr("%1 at the last step that was compared").arg(metricName(m_metric));
    if (role == Qt::ToolTipRole && section == Verdict)
        return tr("What kind of difference it is; point at one to read why");
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Run:
        return tr("Run");
    case Verdict:
        return tr("Verdict");
    case Divergence:
        return tr("Divergence");
    case State:
        return tr("State");
    case Progress:
        return tr("Progress");
    default:
        return {};
    }
}

/// Without the setting that the group has in common.
QString RunTreeModel::nameInGroup(std::size_t run) const {
    const std::optional<std::string> axis = groupAxis();
    RunConfig config = m_results->runs[run].config;
    if (isFlat() || !axis ||
        std::erase_if(config.settings,
                      [&](const Assignment& setting) { return setting.key == *axis; }) == 0 ||
        config.settings.empty())
        return runName(*m_results, run);
    return QString::fromStdString(label(config));
}

/// Numbers and texts both; an invalid one is not known, and comes last.
QVariant RunTreeModel::sortKey(std::size_t run, int column) const {
    const RunResult& result = m_results->runs[run];
    switch (column) {
    case Run:
        return nameInGroup(run);
    case Verdict:
        return result.verdict.kind.empty() ? QVariant()
                                           : QVariant(QString::fromStdString(result.verdict.kind));
    case Divergence: {
        if (!result.comparison || result.comparison->rows() == 0)
            return {};
        if (!result.comparison->first)
            return -1.0; // equal bits: less than a distance of 0 between other bits
        const double value = result.comparison->value(m_metric, result.comparison->rows() - 1, 0);
        return std::isnan(value) ? QVariant() : QVariant(value);
    }
    case State:
        return stateOf(run) ? QVariant(static_cast<int>(*stateOf(run))) : QVariant();
    case Progress:
        return shareOf(run);
    default:
        return {};
    }
}

QString RunTreeModel::filterText(std::size_t run) const {
    const RunResult& result = m_results->runs[run];
    QStringList parts{runName(*m_results, run), verdictText(result.verdict.kind), stateText(run),
                      QString::fromStdString(result.config.id), divergenceText(run)};
    for (const Assignment& setting : result.config.settings)
        parts << QStringLiteral("%1=%2 %1 %2").arg(
            QString::fromStdString(setting.key),
            QString::fromStdString(valueText(result.config, setting)));
    return parts.join(QLatin1Char('\n'));
}

std::optional<RunState> RunTreeModel::stateOf(std::size_t run) const {
    return m_statuses[run] ? m_statuses[run]->state : m_results->runs[run].state;
}

QString RunTreeModel::stateText(std::size_t run) const {
    return driftscope::stateText(stateOf(run));
}

double RunTreeModel::shareOf(std::size_t run) const {
    if (const auto& status = m_statuses[run]; status && status->steps > 0)
        return static_cast<double>(status->step) / static_cast<double>(status->steps);
    const RunResult& result = m_results->runs[run];
    if (result.totalRows == 0 || result.rows == 0)
        return 0;
    return static_cast<double>(result.rows) / static_cast<double>(result.totalRows);
}

QString RunTreeModel::progressText(std::size_t run) const {
    if (!stateOf(run) || stateOf(run) == RunState::Unavailable)
        return {};
    const QString share = QStringLiteral("%1 %").arg(static_cast<int>(100 * shareOf(run)));
    const auto left = m_secondsLeft.find(run);
    if (left == m_secondsLeft.end() || stateOf(run) != RunState::Running)
        return share;
    return QStringLiteral("%1 · %2").arg(share, timeLeft(left->second));
}

QString RunTreeModel::divergenceText(std::size_t run) const {
    return driftscope::divergenceText(*m_results, run, m_metric);
}

QVariant RunTreeModel::verdictColor(std::size_t run) const {
    const std::string& kind = m_results->runs[run].verdict.kind;
    return kind.empty() ? QVariant() : QVariant(QBrush(m_theme.verdictColor(kind)));
}

QString RunTreeModel::toolTip(std::size_t run, int column) const {
    const std::string& summary = m_results->runs[run].verdict.summary;
    if (column == Verdict && !summary.empty()) // as rich text, whose lines wrap
        return QStringLiteral("<p>%1</p>").arg(QString::fromStdString(summary).toHtmlEscaped());
    QString tip = runName(*m_results, run);
    const auto& status = m_statuses[run];
    const QString message = QString::fromStdString(
        status && !status->message.empty() ? status->message : m_results->runs[run].message);
    if (!message.isEmpty())
        tip += QLatin1Char('\n') + message;
    return tip;
}

} // namespace driftscope
