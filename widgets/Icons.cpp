// SPDX-License-Identifier: GPL-3.0-or-later
#include "Icons.h"

#include "Theme.h"

#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QString>
#include <QSvgRenderer>

#include <functional>

namespace driftscope {
namespace {

constexpr int iconPixels = 24;

QPixmap rendered(QByteArray svg, const QColor& color) {
    svg.replace("currentColor", color.name().toLatin1());
    QSvgRenderer renderer(svg);
    QPixmap pixmap(iconPixels * 2, iconPixels * 2);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    pixmap.setDevicePixelRatio(2);
    return pixmap;
}

/// `draw` has a square of swatchPixels.
QIcon swatch(const std::function<void(QPainter&)>& draw) {
    QPixmap pixmap(swatchPixels * 2, swatchPixels * 2);
    pixmap.setDevicePixelRatio(2);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    draw(painter);
    painter.end();
    return QIcon(pixmap);
}

} // namespace

QIcon themedIcon(const QString& name, const QColor& color, const QColor& disabled) {
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QByteArray svg = file.readAll();
    QIcon icon(rendered(svg, color));
    icon.addPixmap(rendered(svg, disabled), QIcon::Disabled);
    return icon;
}

QIcon applicationIcon() {
    return QIcon(QStringLiteral(":/icons/driftscope.svg"));
}

QIcon runSwatch(const Theme& theme, std::size_t run) {
    return swatch([&](QPainter& painter) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme.runColor(run));
        const QRectF square(4, 4, 12, 12);
        switch (runMarker(run)) {
        case RunMarker::Circle:
            painter.drawEllipse(square);
            break;
        case RunMarker::Square:
            painter.drawRect(square.adjusted(1, 1, -1, -1));
            break;
        case RunMarker::Triangle:
            painter.drawPolygon(QPolygonF({{10, 3}, {17, 16}, {3, 16}}));
            break;
        case RunMarker::Diamond:
            painter.drawPolygon(QPolygonF({{10, 2}, {18, 10}, {10, 18}, {2, 10}}));
            break;
        }
    });
}

QIcon lineSwatch(const Theme& theme, std::size_t style) {
    return swatch([&](QPainter& painter) {
        painter.setPen(QPen(theme.text, 1.5, lineStyle(style), Qt::FlatCap));
        painter.drawLine(QPointF(0, 10), QPointF(20, 10));
    });
}

} // namespace driftscope
