// SPDX-License-Identifier: GPL-3.0-or-later
#include "ScopeTree.h"

#include <QSignalSpy>

#include <gtest/gtest.h>

namespace driftscope {
namespace {

const Scope model{ScopeKind::Model, ""};
const Scope block{ScopeKind::Layer, "block"};
const Scope inner{ScopeKind::Layer, "block.fc"};
const Scope weight{ScopeKind::Tensor, "block.fc.weight"};
const Scope own{ScopeKind::Tensor, "scale"};

class ScopeTreeTest : public testing::Test {
protected:
    ScopeTreeTest() { m_tree.setScopes({model, block, inner, weight, own}); }
    ScopeTree m_tree;
};

TEST_F(ScopeTreeTest, TensorsLieUnderTheLayerThatOwnsThem) {
    ASSERT_EQ(m_tree.topLevelItemCount(), 4);
    EXPECT_EQ(m_tree.topLevelItem(1)->childCount(), 0) << "block";
    ASSERT_EQ(m_tree.topLevelItem(2)->childCount(), 1) << "block.fc";
    EXPECT_EQ(m_tree.topLevelItem(2)->child(0)->text(0), QStringLiteral("block.fc.weight"));
    EXPECT_EQ(m_tree.topLevelItem(3)->text(0), QStringLiteral("scale")) << "the model's own";
}

TEST_F(ScopeTreeTest, BeginsWithTheModelAndChecksByKind) {
    EXPECT_EQ(m_tree.checkedScopes(), std::vector{model});
    QSignalSpy changes(&m_tree, &ScopeTree::checkedScopesChanged);
    m_tree.checkOnly(ScopeKind::Layer);
    EXPECT_EQ(m_tree.checkedScopes(), (std::vector{block, inner}));
    EXPECT_EQ(changes.size(), 1) << "one change, not one for each item";
}

TEST_F(ScopeTreeTest, AClickChecksOneMore) {
    QSignalSpy changes(&m_tree, &ScopeTree::checkedScopesChanged);
    m_tree.topLevelItem(1)->setCheckState(0, Qt::Checked);
    EXPECT_EQ(m_tree.checkedScopes(), (std::vector{model, block}));
    EXPECT_EQ(changes.size(), 1);
    EXPECT_FALSE(m_tree.topLevelItem(1)->icon(0).isNull()) << "its line style";
}

TEST_F(ScopeTreeTest, KeepsCheckMarksWhileTheScopesAreTheSame) {
    m_tree.checkOnly(ScopeKind::Tensor);
    m_tree.setScopes({model, block, inner, weight, own});
    EXPECT_EQ(m_tree.checkedScopes(), (std::vector{weight, own}));
}

} // namespace
} // namespace driftscope
