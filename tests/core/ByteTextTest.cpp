// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/ByteText.h"

#include <gtest/gtest.h>

namespace driftscope {
namespace {

TEST(ByteText, HasThreeDigitsAndTheUnitThatFits) {
    EXPECT_EQ(byteText(0), "0 B");
    EXPECT_EQ(byteText(999), "999 B");
    EXPECT_EQ(byteText(1000), "1 kB");
    EXPECT_EQ(byteText(16384), "16.4 kB");
    EXPECT_EQ(byteText(3.4e6), "3.4 MB");
    EXPECT_EQ(byteText(1.234e9), "1.23 GB");
    EXPECT_EQ(byteText(5e12), "5 TB");
    EXPECT_EQ(byteText(2.5e16), "25000 TB");
}

TEST(ByteText, WhatRoundsToAThousandTakesTheNextUnit) {
    EXPECT_EQ(byteText(999.4e3), "999 kB");
    EXPECT_EQ(byteText(999.6e3), "1 MB");
    EXPECT_EQ(byteText(999.9e6), "1 GB");
}

} // namespace
} // namespace driftscope
