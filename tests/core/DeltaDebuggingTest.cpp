// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/DeltaDebugging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace driftscope {
namespace {

bool contains(const Subset& whole, const Subset& part) { return std::ranges::includes(whole, part); }

TEST(DeltaDebugging, FindsASingleCause) {
    // by hand: {}, all, 0-3, 4-7, then 45, then 4, 5
    const auto found = minimalSubset(8, [](const Subset& subset) { return contains(subset, {5}); });
    EXPECT_EQ(found.kept, (Subset{5}));
    EXPECT_EQ(found.tests, 7U);
}

TEST(DeltaDebugging, FindsTwoThatAreNeededTogether) {
    // by hand: {}, all, 01, 23, then 0, 1, 2, 3, without the last 012, without 2 013, then without 1 03
    std::vector<Subset> asked;
    const auto found = minimalSubset(4, [&](const Subset& subset) {
        asked.push_back(subset);
        return contains(subset, {0, 3});
    });
    EXPECT_EQ(found.kept, (Subset{0, 3}));
    EXPECT_EQ(asked, (std::vector<Subset>{
                         {}, {0, 1, 2, 3}, {0, 1}, {2, 3}, {0}, {1}, {2}, {3}, {0, 1, 2}, {0, 1, 3}, {0, 3}}));
    EXPECT_EQ(found.tests, asked.size());
}

TEST(DeltaDebugging, NoneWorks) {
    const auto found = minimalSubset(5, [](const Subset&) { return false; });
    EXPECT_FALSE(found.kept);
    EXPECT_EQ(found.tests, 2U);
    EXPECT_FALSE(minimalSubset(0, [](const Subset&) { return false; }).kept);
}

TEST(DeltaDebugging, EverythingWorksWithout) {
    const auto found = minimalSubset(5, [](const Subset&) { return true; });
    EXPECT_EQ(found.kept, Subset{});
    EXPECT_EQ(found.tests, 1U);
}

TEST(DeltaDebugging, OfTwoThatBothWorkTheFirstIsKept) {
    for (const std::size_t count : {2U, 3U, 7U, 8U})
        EXPECT_EQ(
            minimalSubset(count,
                          [&](const Subset& subset) { return contains(subset, {0}) || contains(subset, {count - 1}); })
                .kept,
            Subset{0})
            << count;
}

/// Every monotone cause among up to five: exactly the cause is kept, and no set is asked for twice.
TEST(DeltaDebugging, EverySetOfCauses) {
    for (std::size_t count = 1; count <= 5; ++count)
        for (std::size_t bits = 1; bits < (std::size_t{1} << count); ++bits) {
            Subset cause;
            for (std::size_t i = 0; i < count; ++i)
                if (bits & (std::size_t{1} << i))
                    cause.push_back(i);
            std::set<Subset> asked;
            const auto found = minimalSubset(count, [&](const Subset& subset) {
                EXPECT_TRUE(std::ranges::is_sorted(subset));
                EXPECT_TRUE(asked.insert(subset).second);
                return contains(subset, cause);
            });
            EXPECT_EQ(found.kept, cause) << count;
            EXPECT_EQ(found.tests, asked.size());
        }
}

/// An odd number of members spoils it; nothing is taken for granted about sets that were not asked for.
TEST(DeltaDebugging, NotMonotone) {
    const auto works = [](const Subset& subset) { return contains(subset, {1}) && subset.size() % 2 == 0; };
    const auto found = minimalSubset(4, works);
    ASSERT_TRUE(found.kept);
    EXPECT_TRUE(works(*found.kept));
    for (const std::size_t member : *found.kept) {
        Subset without = *found.kept;
        std::erase(without, member);
        EXPECT_FALSE(works(without));
    }
}

} // namespace
} // namespace driftscope
