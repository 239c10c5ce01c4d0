// SPDX-License-Identifier: GPL-3.0-or-later
#include "Theme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

/// Relative luminance (WCAG 2).
double luminance(const QColor& color) {
    const auto linear = [](double part) {
        return part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

/// CIE lightness, 0 to 100: what the colour-blind see as well.
double lightness(const QColor& color) {
    const double own = luminance(color);
    return own > 0.008856 ? 116 * std::cbrt(own) - 16 : 903.3 * own;
}

/// 1 to 21 (WCAG 2).
double contrast(const QColor& a, const QColor& b) {
    const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
    return (lighter + 0.05) / (darker + 0.05);
}

TEST(Theme, RunsOfOneHueDifferInLightnessAndAllStandOutFromTheBackground) {
    for (const Theme& theme : {Theme::light(), Theme::dark()})
        for (std::size_t run = 0; run < paletteSize * colorVariants; ++run) {
            const double own = lightness(theme.runColor(run));
            EXPECT_GT(std::abs(own - lightness(theme.background)), 14) << run;
            for (std::size_t other = run % paletteSize; other < run; other += paletteSize)
                EXPECT_GT(std::abs(own - lightness(theme.runColor(other))), 10)
                    << run << " and " << other << (theme.isDark ? ", dark" : ", light");
        }
}

TEST(Theme, MarkersTellRunsOfOneColorApart) {
    const std::size_t same = paletteSize * colorVariants;
    EXPECT_EQ(Theme::light().runColor(1), Theme::light().runColor(1 + same));
    EXPECT_NE(runMarker(1), runMarker(1 + same));
}

TEST(Theme, VerdictsCanBeRead) {
    ASSERT_NEAR(contrast(Qt::black, Qt::white), 21, 1e-6);
    for (const Theme& theme : {Theme::light(), Theme::dark()})
        for (const char* kind : {"identical", "rounding", "precision", "data", "random",
                                 "algorithmic", "run-to-run", "inconclusive", "unheard of"})
            for (const QColor& background :
                 {theme.background, paletteOf(theme).color(QPalette::Window)})
                EXPECT_GE(contrast(theme.verdictColor(kind), background), 4.5)
                    << kind << (theme.isDark ? ", dark" : ", light");
}

} // namespace
} // namespace driftscope
