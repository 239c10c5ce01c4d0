// SPDX-License-Identifier: GPL-3.0-or-later
// Draws a plot at an explicit size into the bytes of a picture file. The same plot gives the same
// bytes.
#pragma once

#include <QByteArray>
#include <QSize>

class QCustomPlot;
class QString;

namespace driftscope {

enum class PictureFormat { Png, Svg, Pdf };

/// SVG and PDF are vector graphics whose text stays text; `title` becomes the document's title.
QByteArray renderPlot(QCustomPlot& plot, PictureFormat format, QSize size, const QString& title);

} // namespace driftscope
