// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of the window (widgets/Theme.cpp), as CSS.
#include "analysis/SvgPlots.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace driftscope {
namespace {

constexpr std::size_t paletteSize = 8, colorVariants = 3;

struct Palette {
    std::uint32_t background, text, muted, grid, axis, accent;
    std::uint32_t identical, reference, nonfinite, hatch; ///< cells
    std::array<std::uint32_t, paletteSize> runs;          ///< Okabe–Ito
    bool canDarken;                                       ///< the third lightness is darker, not lighter
};

// On white, yellow is darkened: Okabe and Ito's own can't be seen there as a line. On dark, black becomes white and blue
// is lightened.
constexpr Palette light{
    .background = 0xffffff, .text = 0x1c2024, .muted = 0x5a6270, .grid = 0xe6e9ed, .axis = 0x868e99, .accent = 0x0b62c4,
    .identical = 0xdfe3e8, .reference = 0xc3d4ea, .nonfinite = 0xb3261e, .hatch = 0x9aa2ad,
    .runs = {0x000000, 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0xa89a00}, .canDarken = true};
constexpr Palette dark{
    .background = 0x1a1d21, .text = 0xe8eaed, .muted = 0xa4acb8, .grid = 0x30353c, .axis = 0x7d8590, .accent = 0x6cb2ff,
    .identical = 0x3d434b, .reference = 0x3f5878, .nonfinite = 0xff6b5e, .hatch = 0x6b737e,
    .runs = {0xffffff, 0x3f9fe0, 0xe8702a, 0x1fbf92, 0xdd92bb, 0xf0ad1f, 0x7cc7f2, 0xf0e442}, .canDarken = false};

/// The colour with a share of another in it.
std::uint32_t mixed(std::uint32_t color, std::uint32_t other, double share) {
    std::uint32_t out = 0;
    for (const unsigned shift : {16U, 8U, 0U}) {
        const double from = color >> shift & 0xFFU, to = other >> shift & 0xFFU;
        out |= static_cast<std::uint32_t>(from + share * (to - from) + 0.5) << shift;
    }
    return out;
}

std::uint32_t runColor(const Palette& palette, std::size_t run) {
    const std::uint32_t color = palette.runs[run % paletteSize];
    switch (run / paletteSize % colorVariants) {
    case 1: return mixed(color, palette.background, 0.38);
    case 2: // black can't be darkened
        return palette.canDarken && run % paletteSize != 0 ? mixed(color, palette.text, 0.5)
                                                           : mixed(color, palette.background, 0.64);
    default: return color;
    }
}

std::string properties(const Palette& palette) {
    std::string out;
    const auto add = [&](std::string_view name, std::uint32_t color) {
        out += fmt::format("--{}:#{:06x};", name, color);
    };
    add("background", palette.background);
    add("text", palette.text);
    add("muted", palette.muted);
    add("grid", palette.grid);
    add("axis", palette.axis);
    add("accent", palette.accent);
    add("identical", palette.identical);
    add("reference", palette.reference);
    add("nonfinite", palette.nonfinite);
    add("hatch", palette.hatch);
    for (std::size_t run = 0; run < paletteSize * colorVariants; ++run)
        add(runClass(run), runColor(palette, run));
    return out;
}

constexpr std::string_view rules = R"(svg text{font-size:12px;fill:var(--text)}
svg .title,svg .floor-label{fill:var(--muted)}
svg line{stroke-width:1}
svg .grid{stroke:var(--grid)}
svg .axis{stroke:var(--axis)}
svg .floor{stroke:var(--axis);stroke-dasharray:2 3}
svg .curve{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}
svg .twin{stroke-width:1.5;stroke-dasharray:6 4}
svg circle{fill:currentColor}
svg .any-run{color:var(--muted)}
svg .identical{fill:var(--identical)}
svg .reference{fill:var(--reference)}
svg .nonfinite{fill:var(--nonfinite)}
svg .missing{fill:none;stroke:var(--grid);pointer-events:all}
svg .hatch{stroke:var(--hatch)}
svg .on-dark{fill:#fff}
svg .on-light{fill:#000}
svg .on-nonfinite{fill:var(--background)}
)";

} // namespace

std::string runClass(std::size_t run) { return fmt::format("run{}", run % (paletteSize * colorVariants)); }

std::string plotStyle() {
    std::string out = fmt::format(":root{{color-scheme:light dark;{}}}\n"
                                  "@media (prefers-color-scheme:dark){{:root{{{}}}}}\n{}",
                                  properties(light), properties(dark), rules);
    for (std::size_t run = 0; run < paletteSize * colorVariants; ++run)
        out += fmt::format(".{0}{{color:var(--{0})}}", runClass(run));
    return out + "\n";
}

} // namespace driftscope
