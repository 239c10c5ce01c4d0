// SPDX-License-Identifier: GPL-3.0-or-later
#include "FuzzyMatch.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

std::optional<int> score(const char* typed, const char* text) {
    return fuzzyScore(QString::fromUtf8(typed), QString::fromUtf8(text));
}

TEST(FuzzyMatch, AllLettersInTheirOrder) {
    EXPECT_TRUE(score("oprf", "Open run files"));
    EXPECT_TRUE(score("OPEN", "open"));
    EXPECT_TRUE(score("run files", "Open run files")) << "spaces don't count";
    EXPECT_FALSE(score("nepo", "Open"));
    EXPECT_FALSE(score("openx", "Open"));
    EXPECT_FALSE(score("a", ""));
    EXPECT_EQ(score("", "anything"), 0);
    EXPECT_EQ(score(" ", ""), 0);
}

TEST(FuzzyMatch, BeginningsOfWordsAndLettersInARowAreWorthMore) {
    EXPECT_GT(*score("run", "Run"), *score("run", "Refresh until now"));
    EXPECT_GT(*score("of", "Open files"), *score("of", "Profile"));
    EXPECT_GT(*score("heat", "Heatmap"), *score("heat", "The attribution"));
    EXPECT_GT(*score("loss", "Loss"), *score("loss", "Loss, gradient and accuracy at every step"));
}

TEST(FuzzyMatch, ACapitalWhoseSmallFormIsLonger) {
    EXPECT_TRUE(score("zmir", "İzmir"));
}

} // namespace
} // namespace driftscope
