// SPDX-License-Identifier: GPL-3.0-or-later
#include "HeatmapCells.h"

#include <algorithm>
#include <utility>

namespace driftscope {
namespace {

constexpr int gapFromPixels = 24; ///< cells at least so large have a gap between them
constexpr int swatchPixels = 16;
constexpr int hatchPixels = 6;
constexpr int darkestForBlack = 110; ///< grey level where black and white text have equal contrast

/// Diagonal lines, cut at the rectangle by hand: vector formats do not all know clipping.
void hatch(QPainter& painter, const QRect& rect, const QColor& color) {
    painter.setPen(QPen(color, 1));
    for (int offset = hatchPixels; offset < rect.width() + rect.height(); offset += hatchPixels) {
        const int x0 = std::min(offset, rect.width());
        const int y1 = std::min(offset, rect.height());
        painter.drawLine(rect.left() + x0, rect.top() + offset - x0, rect.left() + offset - y1,
                         rect.top() + y1);
    }
}

QColor kindColor(CellKind kind, const Theme& theme) {
    switch (kind) {
    case CellKind::Identical:
        return theme.identical;
    case CellKind::Nonfinite:
        return theme.nonfinite;
    case CellKind::Reference:
        return theme.reference;
    case CellKind::Unavailable:
        return theme.grid;
    case CellKind::Value:
    case CellKind::Missing:
        break;
    }
    return Qt::transparent;
}

QString kindName(CellKind kind) {
    switch (kind) {
    case CellKind::Identical:
        return HeatmapCells::tr("bit-identical");
    case CellKind::Nonfinite:
        return HeatmapCells::tr("not finite, or not kept");
    case CellKind::Reference:
        return HeatmapCells::tr("the reference");
    case CellKind::Unavailable:
        return HeatmapCells::tr("unavailable");
    case CellKind::Value:
    case CellKind::Missing:
        break;
    }
    return {};
}

QString cellText(const HeatmapCell& cell) {
    switch (cell.kind) {
    case CellKind::Value:
        return QString::fromStdString(shortNumber(cell.value));
    case CellKind::Identical:
        return QStringLiteral("=");
    case CellKind::Nonfinite:
        return QStringLiteral("∞");
    case CellKind::Reference:
        return HeatmapCells::tr("ref");
    case CellKind::Unavailable:
    case CellKind::Missing:
        break;
    }
    return {};
}

} // namespace

QCPColorGradient viridis() {
    static constexpr QRgb stops[] = {0x440154, 0x481a6c, 0x472f7d, 0x414487, 0x39568c, 0x31688e,
                                     0x2a788e, 0x23888e, 0x1f988b, 0x22a884, 0x35b779, 0x54c568,
                                     0x7ad151, 0xa5db36, 0xd2e21b, 0xfde725};
    QCPColorGradient gradient;
    gradient.clearColorStops();
    gradient.setLevelCount(256);
    for (std::size_t i = 0; i < std::size(stops); ++i)
        gradient.setColorStopAt(static_cast<double>(i) / (std::size(stops) - 1), QColor(stops[i]));
    return gradient;
}

void HeatmapCells::setPanel(HeatmapPanel panel, ColorRange range) {
    m_panel = std::move(panel);
    m_range = range;
}

double HeatmapCells::selectTest(const QPointF&, bool, QVariant*) const {
    return -1;
}

QCPRange HeatmapCells::getKeyRange(bool& foundRange, QCP::SignDomain) const {
    foundRange = !m_panel.columnLabels.empty();
    return {0, static_cast<double>(m_panel.columnLabels.size())};
}

QCPRange HeatmapCells::getValueRange(bool& foundRange, QCP::SignDomain, const QCPRange&) const {
    foundRange = !m_panel.rowLabels.empty();
    return {0, static_cast<double>(m_panel.rowLabels.size())};
}

QColor HeatmapCells::colorOf(const HeatmapCell& cell) const {
    if (cell.kind != CellKind::Value)
        return kindColor(cell.kind, m_theme);
    if (m_range.smallest <= 0)
        return m_theme.identical;
    return QColor(m_gradient.color(std::clamp(cell.value, m_range.smallest, m_range.largest),
                                   {m_range.smallest, m_range.largest}, true));
}

QRect HeatmapCells::rectOf(std::size_t row, std::size_t firstColumn, std::size_t endColumn) const {
    const auto x = [&](std::size_t column) {
        return qRound(keyAxis()->coordToPixel(static_cast<double>(column)));
    };
    const auto y = [&](std::size_t r) {
        return qRound(valueAxis()->coordToPixel(static_cast<double>(r)));
    };
    const QRect bounds = clipRect();
    QRect rect(QPoint(x(firstColumn), y(row)),
               QSize(x(endColumn) - x(firstColumn), y(row + 1) - y(row)));
    if (y(row + 1) - y(row) >= gapFromPixels)
        rect.setHeight(rect.height() - 1);
    if (x(firstColumn + 1) - x(firstColumn) >= gapFromPixels)
        rect.setWidth(rect.width() - 1);
    return rect & bounds;
}

void HeatmapCells::draw(QCPPainter* painter) {
    painter->setAntialiasing(false);
    for (std::size_t row = 0; row < m_panel.rowLabels.size(); ++row)
        drawRow(*painter, row);
    drawTexts(*painter);
}

/// Neighbours of one colour are one rectangle where cells are too small for gaps.
void HeatmapCells::drawRow(QCPPainter& painter, std::size_t row) {
    const std::size_t columns = m_panel.columnLabels.size();
    const bool hasGaps = keyAxis()->coordToPixel(1) - keyAxis()->coordToPixel(0) >= gapFromPixels;
    for (std::size_t column = 0; column < columns;) {
        const HeatmapCell& cell = m_panel.cells[row * columns + column];
        const QColor color = colorOf(cell);
        std::size_t end = column + 1;
        while (!hasGaps && end < columns) {
            const HeatmapCell& next = m_panel.cells[row * columns + end];
            if (next.kind != cell.kind || colorOf(next) != color)
                break;
            ++end;
        }
        const QRect rect = rectOf(row, column, end);
        if (!rect.isEmpty()) {
            if (color.alpha() != 0)
                painter.fillRect(rect, color);
            if (cell.kind == CellKind::Unavailable)
                hatch(painter, rect, m_theme.hatch);
        }
        column = end;
    }
}

void HeatmapCells::drawTexts(QCPPainter& painter) const {
    const QFont font = keyAxis()->tickLabelFont();
    const QFontMetrics metrics(font);
    const QRect sample = rectOf(0, 0, 1);
    if (m_panel.cells.empty() || sample.height() < metrics.height() ||
        sample.width() < metrics.horizontalAdvance(QStringLiteral("8.8e-88")) + 4)
        return;
    painter.setFont(font);
    const std::size_t columns = m_panel.columnLabels.size();
    for (std::size_t i = 0; i < m_panel.cells.size(); ++i) {
        const HeatmapCell& cell = m_panel.cells[i];
        const QColor fill = colorOf(cell);
        const bool isLight =
            fill.alpha() == 0 ? !m_theme.isDark : qGray(fill.rgb()) > darkestForBlack;
        painter.setPen(isLight ? Qt::black : Qt::white);
        painter.drawText(rectOf(i / columns, i % columns, i % columns + 1), Qt::AlignCenter,
                         cellText(cell));
    }
}

void HeatmapCells::drawLegendIcon(QCPPainter*, const QRectF&) const {}

CellLegend::CellLegend(QCustomPlot* plot) : QCPLayoutElement(plot) {
    setMinimumMargins(QMargins(16, 0, 16, 4));
}

void CellLegend::setStyle(const Theme& theme, const QFont& font) {
    m_theme = theme;
    m_font = font;
}

QSize CellLegend::minimumOuterSizeHint() const {
    return {0, m_kinds.empty() ? 0 : std::max(swatchPixels, QFontMetrics(m_font).height()) + 10};
}

void CellLegend::draw(QCPPainter* painter) {
    painter->setAntialiasing(false);
    painter->setFont(m_font);
    const QFontMetrics metrics(m_font);
    int x = rect().left() + 16;
    const int middle = rect().center().y();
    for (const CellKind kind : m_kinds) {
        const QRect swatch(x, middle - swatchPixels / 2, swatchPixels, swatchPixels);
        painter->fillRect(swatch, kindColor(kind, m_theme));
        if (kind == CellKind::Unavailable)
            hatch(*painter, swatch, m_theme.hatch);
        painter->setPen(m_theme.axis);
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(swatch.adjusted(0, 0, -1, -1));
        const QString name = kindName(kind);
        painter->setPen(m_theme.text);
        painter->drawText(QRect(x + swatchPixels + 6, middle - metrics.height() / 2,
                                metrics.horizontalAdvance(name) + 4, metrics.height()),
                          Qt::AlignLeft | Qt::AlignVCenter, name);
        x += swatchPixels + metrics.horizontalAdvance(name) + 30;
    }
}

} // namespace driftscope
