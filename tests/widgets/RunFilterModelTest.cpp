// SPDX-License-Identifier: GPL-3.0-or-later
#include "RunFilterModel.h"

#include "RunTreeModel.h"
#include "SampleViews.h"

#include <QAbstractItemModelTester>

#include <gtest/gtest.h>

namespace driftscope {
namespace {

class RunFilterModelTest : public testing::Test {
protected:
    RunFilterModelTest() {
        m_filter.setSourceModel(&m_tree);
        m_results->runs[2].verdict = test::sampleVerdict(); // rounding
        m_tree.setResults(m_results);
        m_tree.setGrouping("");
    }
    /// Positions of the runs, as they stand.
    std::vector<int> shown() {
        std::vector<int> runs;
        for (int row = 0; row < m_filter.rowCount(); ++row)
            runs.push_back(m_filter.index(row, 0).data(RunTreeModel::RunRole).toInt());
        return runs;
    }
    std::vector<int> found(const char* typed) {
        m_filter.setFilterText(QString::fromUtf8(typed));
        return shown();
    }
    std::vector<int> sorted(int column, Qt::SortOrder order) {
        m_filter.sort(column, order);
        return shown();
    }

    std::shared_ptr<StudyResults> m_results = test::sampleResults();
    RunTreeModel m_tree;
    RunFilterModel m_filter;
    QAbstractItemModelTester m_tester{&m_filter, QAbstractItemModelTester::FailureReportingMode::Warning};
};

TEST_F(RunFilterModelTest, FindsSettingsVerdictsAndStates) {
    EXPECT_EQ(found("threads=2"), (std::vector{1, 3}));
    EXPECT_EQ(found("Rounding"), (std::vector{2}));
    EXPECT_EQ(found("failed"), (std::vector{3}));
    EXPECT_EQ(found("acc 2"), (std::vector{1, 2, 3})) << "each word by itself: acc 1 · thr 2 has both";
    EXPECT_EQ(found("accumulation=2"), (std::vector{2, 3}));
    EXPECT_EQ(found("threads=2 accumulation=1"), (std::vector{1}));
    EXPECT_EQ(found("nothing"), std::vector<int>{});
    EXPECT_EQ(found("  "), (std::vector{0, 1, 2, 3}));
}

// The reference and the run that failed have no distance: they come last either way.
TEST_F(RunFilterModelTest, WhatIsNotKnownComesLast) {
    EXPECT_EQ(sorted(RunTreeModel::Divergence, Qt::AscendingOrder), (std::vector{1, 2, 0, 3}));
    EXPECT_EQ(sorted(RunTreeModel::Divergence, Qt::DescendingOrder), (std::vector{2, 1, 0, 3}));
}

TEST_F(RunFilterModelTest, NamesAreSortedByTheirNumbers) {
    for (const auto& [run, threads] : {std::pair(0, 2), {1, 10}, {2, 1}, {3, 16}}) {
        m_results->runs[static_cast<std::size_t>(run)].config.settings = {{"threads", std::int64_t{threads}}};
        m_results->runs[static_cast<std::size_t>(run)].config.train.threads = threads;
    }
    m_tree.setResults(std::make_shared<StudyResults>(*m_results));
    EXPECT_EQ(sorted(RunTreeModel::Run, Qt::AscendingOrder), (std::vector{2, 0, 1, 3}));
}

} // namespace
} // namespace driftscope
