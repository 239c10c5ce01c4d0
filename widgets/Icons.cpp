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

QIcon swatch(const std::function<void(QPainter&)>& draw) {
    QPixmap pixmap(32, 32);
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
        painter.drawRoundedRect(QRectF(2, 2, 12, 12), 3, 3);
    });
}

QIcon lineSwatch(const Theme& theme, std::size_t style) {
    return swatch([&](QPainter& painter) {
        painter.setPen(QPen(theme.text, 1.5, lineStyle(style), Qt::FlatCap));
        painter.drawLine(QPointF(0, 8), QPointF(16, 8));
    });
}

} // namespace driftscope
