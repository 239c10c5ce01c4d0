// SPDX-License-Identifier: GPL-3.0-or-later
#include "Theme.h"

namespace driftscope {

Theme Theme::light() {
    Theme theme;
    theme.background = QColor(0xffffff);
    theme.text = QColor(0x1c2024);
    theme.mutedText = QColor(0x5a6270);
    theme.grid = QColor(0xe6e9ed);
    theme.axis = QColor(0x868e99);
    theme.accent = QColor(0x0b62c4);
    theme.label = QColor(255, 255, 255, 235);
    theme.identical = QColor(0xdfe3e8);
    theme.reference = QColor(0xc3d4ea);
    theme.nonfinite = QColor(0xb3261e);
    theme.hatch = QColor(0x9aa2ad);
    theme.warning = QColor(0xfff1cc);
    theme.error = QColor(0xfde1de);
    // Yellow is darkened: Okabe and Ito's own can't be seen as a line on white.
    theme.runs = {QColor(Qt::black), QColor(0x0072b2), QColor(0xd55e00), QColor(0x009e73),
                  QColor(0xcc79a7),  QColor(0xe69f00), QColor(0x56b4e9), QColor(0xa89a00)};
    return theme;
}

Theme Theme::dark() {
    Theme theme;
    theme.isDark = true;
    theme.background = QColor(0x1a1d21);
    theme.text = QColor(0xe8eaed);
    theme.mutedText = QColor(0xa4acb8);
    theme.grid = QColor(0x30353c);
    theme.axis = QColor(0x7d8590);
    theme.accent = QColor(0x6cb2ff);
    theme.label = QColor(38, 42, 48, 235);
    theme.identical = QColor(0x3d434b);
    theme.reference = QColor(0x3f5878);
    theme.nonfinite = QColor(0xff6b5e);
    theme.hatch = QColor(0x6b737e);
    theme.warning = QColor(0x4a3d12);
    theme.error = QColor(0x58231f);
    // Black becomes white and blue is lightened; the others are bright enough.
    theme.runs = {QColor(0xffffff), QColor(0x3f9fe0), QColor(0xe8702a), QColor(0x1fbf92),
                  QColor(0xdd92bb), QColor(0xf0ad1f), QColor(0x7cc7f2), QColor(0xf0e442)};
    return theme;
}

Theme Theme::matching(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < 128 ? dark() : light();
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
