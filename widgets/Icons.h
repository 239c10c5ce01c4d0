// SPDX-License-Identifier: GPL-3.0-or-later
// The program's icons: one SVG each, drawn in the colour of the surrounding text.
#pragma once

#include <QColor>
#include <QIcon>

#include <cstddef>

class QString;

namespace driftscope {

struct Theme;

/// Side of the swatches, for setIconSize().
inline constexpr int swatchPixels = 20;

/// Icon `name` of resources/icons in the given colours.
QIcon themedIcon(const QString& name, const QColor& color, const QColor& disabled);

/// The program's own icon, in its own colours.
QIcon applicationIcon();

/// A run's colour and marker, as the run has them in every view.
QIcon runSwatch(const Theme& theme, std::size_t run);

/// A short line of the style that a scope has in the plot.
QIcon lineSwatch(const Theme& theme, std::size_t style);

} // namespace driftscope
