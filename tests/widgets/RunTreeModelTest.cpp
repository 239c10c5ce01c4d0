// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunTreeModel.h"

#include "SampleViews.h"

#include <QAbstractItemModelTester>
#include <QBrush>
#include <QSignalSpy>

#include <gtest/gtest.h>

#include <utility>

namespace driftscope {
namespace {

class RunTreeModelTest : public testing::Test {
protected:
    QString text(std::size_t run, int column) {
        return m_model.indexOfRun(run, column).data().toString();
    }

    RunTreeModel m_model;
    QAbstractItemModelTester m_tester{&m_model,
                                      QAbstractItemModelTester::FailureReportingMode::Warning};
    std::shared_ptr<StudyResults> m_results = test::sampleResults();
};

TEST_F(RunTreeModelTest, GroupsRunsByTheFirstAxis) {
    m_model.setResults(m_results);
    ASSERT_EQ(m_model.rowCount(), 2);
    EXPECT_EQ(m_model.index(0, 0).data().toString(), QStringLiteral("accumulation 1"));
    EXPECT_EQ(m_model.index(1, 0).data().toString(), QStringLiteral("accumulation 2"));
    EXPECT_EQ(m_model.rowCount(m_model.index(1, 0)), 2);
    EXPECT_EQ(text(2, RunTreeModel::Run), QStringLiteral("thr 1"));
    EXPECT_EQ(m_model.indexOfRun(3).data(RunTreeModel::RunRole).toInt(), 3);
}

TEST_F(RunTreeModelTest, AStudyWithOneAxisIsAList) {
    for (RunResult& run : m_results->runs)
        run.config.settings.erase(run.config.settings.begin());
    m_model.setResults(m_results);
    EXPECT_EQ(m_model.rowCount(), 4);
    EXPECT_FALSE(m_model.indexOfRun(2).parent().isValid());
}

TEST_F(RunTreeModelTest, TellsStateAndDivergence) {
    m_model.setResults(m_results);
    EXPECT_EQ(text(0, RunTreeModel::Divergence), QStringLiteral("reference"));
    EXPECT_EQ(text(1, RunTreeModel::Divergence), QStringLiteral("= identical"));
    EXPECT_EQ(text(2, RunTreeModel::Divergence), QStringLiteral("6.00e-07")) << "at the last step";
    EXPECT_EQ(text(3, RunTreeModel::Divergence), QStringLiteral("–"));
    EXPECT_EQ(text(2, RunTreeModel::State), QStringLiteral("✓ finished"));
    EXPECT_EQ(text(3, RunTreeModel::State), QStringLiteral("✕ failed"));
    EXPECT_TRUE(m_model.indexOfRun(3)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("out of memory")));
}

TEST_F(RunTreeModelTest, TheManagersWordGoesBeforeTheFiles) {
    m_model.setResults(m_results);
    QSignalSpy changes(&m_model, &QAbstractItemModel::dataChanged);
    RunStatus status;
    status.run = 2;
    status.state = RunState::Running;
    status.step = 1;
    status.steps = 4;
    m_model.setStatuses({status});
    EXPECT_GT(changes.size(), 0);
    EXPECT_EQ(text(2, RunTreeModel::State), QStringLiteral("▶ running"));
    EXPECT_EQ(text(2, RunTreeModel::Progress), QStringLiteral("25 %"));
    EXPECT_EQ(text(1, RunTreeModel::State), QStringLiteral("✓ finished"))
        << "others keep what they have";
}

TEST_F(RunTreeModelTest, CheckMarksOfGroupsFollowAndLead) {
    m_model.setResults(m_results);
    EXPECT_EQ(m_model.checkedRuns().size(), 4U);
    QSignalSpy changes(&m_model, &RunTreeModel::checkedRunsChanged);
    ASSERT_TRUE(m_model.setData(m_model.indexOfRun(2), Qt::Unchecked, Qt::CheckStateRole));
    EXPECT_EQ(m_model.index(1, 0).data(Qt::CheckStateRole).toInt(), Qt::PartiallyChecked);
    ASSERT_TRUE(m_model.setData(m_model.index(1, 0), Qt::Unchecked, Qt::CheckStateRole));
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(changes.size(), 2);
}

TEST_F(RunTreeModelTest, UpdatesKeepCheckMarksAndDoNotReset) {
    m_model.setResults(m_results);
    m_model.setCheckedRuns({1});
    QSignalSpy resets(&m_model, &QAbstractItemModel::modelReset);
    m_model.setResults(test::sampleResults());
    EXPECT_EQ(resets.size(), 0);
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{1}));
    m_model.setResults(nullptr);
    EXPECT_EQ(resets.size(), 1);
    EXPECT_EQ(m_model.rowCount(), 0);
}

TEST_F(RunTreeModelTest, AVerdictIsAShapeAWordAndAColorWithItsReasonsBehind) {
    m_results->runs[1].verdict.kind = "identical";
    m_results->runs[2].verdict = test::sampleVerdict();
    m_model.setResults(m_results);
    EXPECT_EQ(text(0, RunTreeModel::Verdict), QString()) << "the reference is not judged";
    EXPECT_EQ(text(1, RunTreeModel::Verdict), QStringLiteral("= identical"));
    EXPECT_EQ(text(2, RunTreeModel::Verdict), QStringLiteral("≈ rounding"));
    const QModelIndex index = m_model.indexOfRun(2, RunTreeModel::Verdict);
    for (const Theme& theme : {Theme::light(), Theme::dark()}) {
        m_model.setTheme(theme);
        EXPECT_EQ(index.data(Qt::ForegroundRole).value<QBrush>().color(),
                  theme.verdictColor("rounding"));
    }
    EXPECT_FALSE(m_model.indexOfRun(2).data(Qt::ForegroundRole).isValid());
    EXPECT_FALSE(m_model.indexOfRun(0, RunTreeModel::Verdict).data(Qt::ForegroundRole).isValid());
    EXPECT_EQ(index.data(Qt::ToolTipRole).toString(),
              QStringLiteral("<p>The sums are added in &lt;another&gt; order. Use the canonical "
                             "accumulator.</p>"));
    EXPECT_EQ(m_model.indexOfRun(2).data(Qt::ToolTipRole).toString(),
              QStringLiteral("acc 2 · thr 1"));
}

TEST_F(RunTreeModelTest, EveryKindOfVerdictHasItsShape) {
    const std::pair<const char*, const char*> kinds[] = {
        {"identical", "= identical"},   {"rounding", "≈ rounding"},
        {"precision", "≋ precision"},   {"data", "⇄ data"},
        {"random", "⚂ random"},         {"algorithmic", "≠ algorithmic"},
        {"run-to-run", "↻ run-to-run"}, {"inconclusive", "? inconclusive"}};
    for (const auto& [kind, expected] : kinds) {
        m_results->runs[2].verdict.kind = kind;
        m_model.setResults(std::make_shared<StudyResults>(*m_results));
        EXPECT_EQ(text(2, RunTreeModel::Verdict), QString::fromUtf8(expected));
    }
}

TEST_F(RunTreeModelTest, TwinsHaveRowsOnlyWhereTheyAreAskedFor) {
    m_model.setResults(test::sampleResultsWithTwins());
    ASSERT_EQ(m_model.rowCount(), 2);
    EXPECT_EQ(m_model.rowCount(m_model.index(1, 0)), 2);
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{0, 1, 2, 3}));
    EXPECT_FALSE(m_model.indexOfRun(6).isValid());
    EXPECT_EQ(m_model.index(1, 0).data(Qt::CheckStateRole).toInt(), Qt::Checked)
        << "hidden twins, unchecked, don't make it partial";

    m_model.setCheckedRuns({2});
    QSignalSpy changes(&m_model, &RunTreeModel::checkedRunsChanged);
    m_model.setShowsTwins(true);
    EXPECT_EQ(changes.size(), 1);
    EXPECT_EQ(m_model.rowCount(m_model.index(1, 0)), 4);
    EXPECT_EQ(text(6, RunTreeModel::Run), QStringLiteral("thr 1 · float64 twin"));
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{2})) << "check marks stay";

    ASSERT_TRUE(m_model.setData(m_model.indexOfRun(6), Qt::Checked, Qt::CheckStateRole));
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{2, 6}));
    m_model.checkAll();
    EXPECT_EQ(m_model.checkedRuns().size(), 8U);
    m_model.setShowsTwins(false);
    EXPECT_EQ(m_model.checkedRuns(), (std::vector<std::size_t>{0, 1, 2, 3}))
        << "what has no row is not chosen";
}

TEST_F(RunTreeModelTest, ATwinOpenedAsAFileHasItsRow) {
    const auto results = test::sampleResultsWithTwins();
    results->folder.path.clear();
    m_model.setResults(results);
    EXPECT_TRUE(m_model.indexOfRun(6).isValid());
    EXPECT_EQ(m_model.checkedRuns().size(), 8U);
}

TEST_F(RunTreeModelTest, GroupsRunsByAnyAxisOrNone) {
    m_model.setResults(m_results);
    m_model.setData(m_model.indexOfRun(2), Qt::Unchecked, Qt::CheckStateRole);
    m_model.setGrouping("threads");
    ASSERT_EQ(m_model.rowCount(), 2);
    EXPECT_EQ(m_model.index(0, 0).data().toString(), QStringLiteral("threads 1"));
    EXPECT_EQ(text(2, RunTreeModel::Run), QStringLiteral("acc 2"));
    m_model.setGrouping("");
    EXPECT_EQ(m_model.rowCount(), 4);
    EXPECT_EQ(text(2, RunTreeModel::Run), QStringLiteral("acc 2 · thr 1"));
    EXPECT_EQ(m_model.indexOfRun(2).data(Qt::CheckStateRole), Qt::Unchecked) << "as it was";
    m_model.setGrouping("optimizer");
    EXPECT_EQ(m_model.rowCount(), 4) << "the study has no such axis";
    EXPECT_EQ(m_model.axes(), (std::vector<std::string>{"accumulation", "threads"}));
}

TEST_F(RunTreeModelTest, TellsWhatIsLeftOfARunInFlight) {
    m_model.setResults(m_results);
    RunStatus status;
    status.run = 3;
    status.state = RunState::Running;
    status.step = 1;
    status.steps = 2;
    m_model.setStatuses({status});
    EXPECT_EQ(text(3, RunTreeModel::Progress), QStringLiteral("50 %"));
    m_model.setSecondsLeft({{3, 12.2}, {2, 5}});
    EXPECT_EQ(text(3, RunTreeModel::Progress), QStringLiteral("50 % · 12 s left"));
    EXPECT_EQ(text(2, RunTreeModel::Progress), QStringLiteral("100 %")) << "it has ended";
}

} // namespace
} // namespace driftscope
