// SPDX-License-Identifier: GPL-3.0-or-later
// Colours and line styles of every view, one set for light and one for dark surroundings.
#pragma once

#include <QColor>
#include <QPalette>

#include <array>
#include <cstddef>
#include <string_view>

namespace driftscope {

inline constexpr std::size_t paletteSize = 8;
inline constexpr std::size_t colorVariants = 3; ///< of each colour in the palette

struct Theme {
    bool isDark = false;
    QColor background; ///< of plots
    QColor text;
    QColor mutedText;
    QColor grid;
    QColor axis;
    QColor accent;    ///< marks the selected step and what is hovered
    QColor label;     ///< background of text that floats over a plot
    QColor identical; ///< heatmap cells with equal bits
    QColor reference; ///< heatmap cells of the reference itself
    QColor nonfinite;
    QColor hatch; ///< lines of unavailable cells
    QColor warning;
    QColor error;
    // Text that says a verdict, readable on `background`. Inconclusive is mutedText.
    QColor identicalText, roundingText, precisionText, otherInputText, algorithmicText,
        runToRunText;
    std::array<QColor, paletteSize> runs; ///< Okabe–Ito

    static Theme light();
    static Theme dark();
    /// The one that suits a widget with this palette.
    static Theme matching(const QPalette& palette);

    /// From the ninth run on in other lightnesses, which the colour-blind see too.
    [[nodiscard]] QColor runColor(std::size_t run) const;

    /// Of a kind of verdict; beside it stand a shape and a word, as verdictText has them.
    [[nodiscard]] QColor verdictColor(std::string_view kind) const;
};

/// A palette for the whole window, for systems that don't say whether they are dark.
QPalette paletteOf(const Theme& theme);

/// For item views with check marks: Fusion derives their outline from the window's colour, and
/// makes it as dark as the background in dark surroundings.
QPalette checkMarkPalette(const Theme& theme);

/// Tells runs of one colour apart, where a study has more runs than there are colours.
enum class RunMarker { Circle, Square, Triangle, Diamond };
RunMarker runMarker(std::size_t run);

/// Line style of the n-th scope (model, layer, tensor) of a plot.
Qt::PenStyle lineStyle(std::size_t scope);

} // namespace driftscope
