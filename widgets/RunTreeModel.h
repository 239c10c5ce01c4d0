// SPDX-License-Identifier: GPL-3.0-or-later
// The runs of a study as a tree: grouped by an axis, with verdict, final divergence, state, progress
// and time left. A check mark says whether a run's curves are shown. Float64 twins have rows of their
// own only where they are asked for.
#pragma once

#include "Theme.h"

#include "analysis/StudyResults.h"
#include "execution/RunManager.h"

#include <QAbstractItemModel>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

class RunTreeModel : public QAbstractItemModel {
    Q_OBJECT

public:
    enum Column { Run, Verdict, Divergence, State, Progress, ColumnCount };
    enum Role {
        RunRole = Qt::UserRole, ///< position in the study; invalid for a group
        ShareRole,              ///< 0 … 1 of the steps done
        SortRole,               ///< what a column is sorted by: a number, or a text
        FilterRole,             ///< all that a filter may find: settings, verdict, state, id
    };

    using QAbstractItemModel::QAbstractItemModel;

    /// Check marks and groups stay while the runs are the same. nullptr: no study.
    void setResults(std::shared_ptr<const StudyResults> results);
    /// What the run manager knows, ahead of the files. Runs not named keep what they have.
    void setStatuses(const std::vector<RunStatus>& statuses);
    /// Of runs in flight, by position; those not named are not known.
    void setSecondsLeft(const std::map<std::size_t, double>& seconds);
    /// Groups by an axis of the study, by none (""), or by the first one, which is the default.
    /// An axis that the study doesn't have groups by none. Check marks stay.
    void setGrouping(const std::optional<std::string>& axis);
    [[nodiscard]] const std::optional<std::string>& grouping() const { return m_grouping; }
    /// The study's, in its order: what can be grouped by.
    [[nodiscard]] std::vector<std::string> axes() const;
    void setMetric(Metric metric);
    void setTheme(const Theme& theme);
    /// Twins get rows, unchecked at first. Check marks stay.
    void setShowsTwins(bool showsTwins);

    /// Those that have a row.
    [[nodiscard]] std::vector<std::size_t> checkedRuns() const;
    void setCheckedRuns(const std::vector<std::size_t>& runs);
    void checkAll();
    [[nodiscard]] QModelIndex indexOfRun(std::size_t run, int column = Run) const;

    [[nodiscard]] QModelIndex index(int row, int column,
                                    const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                      int role) const override;

signals:
    void checkedRunsChanged();

private:
    struct Group {
        QString title; ///< "" where runs aren't grouped
        std::vector<std::size_t> runs;
    };
    void rebuild();
    void regroup();
    void refresh(int firstColumn = Run, int lastColumn = ColumnCount - 1);
    [[nodiscard]] bool hasRow(std::size_t run) const;
    [[nodiscard]] bool isFlat() const {
        return m_groups.size() == 1 && m_groups.front().title.isEmpty();
    }
    [[nodiscard]] std::optional<std::size_t> runAt(const QModelIndex& index) const;
    [[nodiscard]] const Group* groupAt(const QModelIndex& index) const;
    [[nodiscard]] Qt::CheckState checkState(const Group& group) const;
    [[nodiscard]] QVariant runData(std::size_t run, int column, int role) const;
    [[nodiscard]] QVariant groupData(const Group& group, int column, int role) const;
    [[nodiscard]] std::optional<RunState> stateOf(std::size_t run) const;
    [[nodiscard]] std::optional<std::string> groupAxis() const;
    [[nodiscard]] QString nameInGroup(std::size_t run) const;
    [[nodiscard]] QVariant sortKey(std::size_t run, int column) const;
    [[nodiscard]] QString filterText(std::size_t run) const;
    [[nodiscard]] QString stateText(std::size_t run) const;
    [[nodiscard]] double shareOf(std::size_t run) const;
    [[nodiscard]] QString progressText(std::size_t run) const;
    [[nodiscard]] QString divergenceText(std::size_t run) const;
    [[nodiscard]] QVariant verdictColor(std::size_t run) const;
    [[nodiscard]] QString toolTip(std::size_t run, int column) const;

    std::shared_ptr<const StudyResults> m_results;
    std::vector<std::optional<RunStatus>> m_statuses;
    std::map<std::size_t, double> m_secondsLeft;
    std::vector<bool> m_isChecked;
    std::optional<std::string> m_grouping; ///< none: by the first axis
    std::vector<Group> m_groups;
    bool m_showsTwins = false;
    Metric m_metric = Metric::RelativeL2;
    Theme m_theme = Theme::light();
};

} // namespace driftscope
