// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunTreeModel.h"

#include "SampleViews.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <gtest/gtest.h>

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

} // namespace
} // namespace driftscope
