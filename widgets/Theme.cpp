// SPDX-License-Identifier: GPL-3.0-or-later
#include "Theme.h"

namespace driftscope {

namespace {

Theme makeTheme(bool isDark) {
    const auto either = [isDark](QRgb light, QRgb dark) { return QColor(isDark ? dark : light); };
    return {
        .isDark = isDark,
        .background = either(0xffffff, 0x1a1d21),
        .text = either(0x1c2024, 0xe8eaed),
        .mutedText = either(0x5a6270, 0xa4acb8),
        .grid = either(0xe6e9ed, 0x30353c),
        .axis = either(0x868e99, 0x7d8590),
        .accent = either(0x0b62c4, 0x6cb2ff),
        .label = isDark ? QColor(38, 42, 48, 235) : QColor(255, 255, 255, 235),
        .identical = either(0xdfe3e8, 0x3d434b),
        .reference = either(0xc3d4ea, 0x3f5878),
        .nonfinite = either(0xb3261e, 0xff6b5e),
        .hatch = either(0x9aa2ad, 0x6b737e),
        .warning = either(0xfff1cc, 0x4a3d12),
        .error = either(0xfde1de, 0x58231f),
        .identicalText = either(0x00703c, 0x3ccf9e),
        .roundingText = either(0x0b62c4, 0x6cb2ff),
        .precisionText = either(0x00696f, 0x4fd1d9),
        .otherInputText = either(0x8a2f8f, 0xe09ae4),
        .algorithmicText = either(0xb33a00, 0xff8f5a),
        .runToRunText = either(0x8a5300, 0xf0ad1f),
        // On white, yellow is darkened: Okabe and Ito's own can't be seen there as a line. On dark,
        // black becomes white and blue is lightened; the others are bright enough.
        .runs = {either(0x000000, 0xffffff), either(0x0072b2, 0x3f9fe0), either(0xd55e00, 0xe8702a),
                 either(0x009e73, 0x1fbf92), either(0xcc79a7, 0xdd92bb), either(0xe69f00, 0xf0ad1f),
                 either(0x56b4e9, 0x7cc7f2), either(0xa89a00, 0xf0e442)},
    };
}

/// The colour with a share of another in it.
QColor mixed(const QColor& color, const QColor& other, double share) {
    const auto part = [share](int from, int to) { return qRound(from + share * (to - from)); };
    return QColor(part(color.red(), other.red()), part(color.green(), other.green()),
                  part(color.blue(), other.blue()));
}

} // namespace

Theme Theme::light() {
    return makeTheme(false);
}

Theme Theme::dark() {
    return makeTheme(true);
}

Theme Theme::matching(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128 ? dark() : light();
}

QColor Theme::runColor(std::size_t run) const {
    const QColor& color = runs[run % paletteSize];
    const bool canDarken = !isDark && run % paletteSize != 0; // not the black one
    switch (run / paletteSize % colorVariants) {
    case 1:
        return mixed(color, background, 0.38);
    case 2:
        return canDarken ? mixed(color, text, 0.5) : mixed(color, background, 0.64);
    default:
        return color;
    }
}

QColor Theme::verdictColor(std::string_view kind) const {
    if (kind == "identical")
        return identicalText;
    if (kind == "rounding")
        return roundingText;
    if (kind == "precision")
        return precisionText;
    if (kind == "data" || kind == "random")
        return otherInputText;
    if (kind == "algorithmic")
        return algorithmicText;
    if (kind == "run-to-run")
        return runToRunText;
    return mutedText;
}

QPalette paletteOf(const Theme& theme) {
    const QColor window = theme.isDark ? QColor(0x25292e) : QColor(0xf4f5f7);
    const QColor button = theme.isDark ? QColor(0x32373e) : QColor(0xf0f1f3);
    QPalette palette(button, window);
    palette.setColor(QPalette::Base, theme.background);
    palette.setColor(QPalette::AlternateBase, window);
    palette.setColor(QPalette::ToolTipBase, theme.background);
    palette.setColor(QPalette::Highlight, theme.isDark ? QColor(0x2f6db3) : theme.accent);
    palette.setColor(QPalette::HighlightedText, Qt::white);
    palette.setColor(QPalette::Link, theme.accent);
    palette.setColor(QPalette::PlaceholderText, theme.mutedText);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                            QPalette::ToolTipText, QPalette::BrightText}) {
        palette.setColor(role, theme.text);
        palette.setColor(QPalette::Disabled, role, theme.axis);
    }
    return palette;
}

QPalette checkMarkPalette(const Theme& theme) {
    QPalette palette;
    palette.setColor(QPalette::Window, theme.isDark ? theme.mutedText : theme.axis);
    return palette;
}

RunMarker runMarker(std::size_t run) {
    return static_cast<RunMarker>(run / paletteSize % 4);
}

Qt::PenStyle lineStyle(std::size_t scope) {
    static constexpr std::array styles = {Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine,
                                          Qt::DashDotDotLine};
    return styles[scope % styles.size()];
}

} // namespace driftscope
