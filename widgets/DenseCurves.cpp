// SPDX-License-Identifier: GPL-3.0-or-later
#include "DenseCurves.h"

#include <QtConcurrentMap>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace driftscope {
namespace {

/// A colour with its opacity apart.
struct Paint {
    explicit Paint(const QColor& color) : opaque(color.rgb()), alpha(color.alphaF()) {}
    QRgb opaque;
    double alpha;
};

void blend(QRgb& pixel, const Paint& paint, double coverage) {
    const auto share = static_cast<std::uint32_t>(paint.alpha * coverage * 256);
    const std::uint32_t rest = 256 - share;
    constexpr std::uint32_t even = 0x00ff00ff; // two channels at a time
    const std::uint32_t low = (paint.opaque & even) * share + (pixel & even) * rest;
    const std::uint32_t high = (paint.opaque >> 8 & even) * share + (pixel >> 8 & even) * rest;
    pixel = (low >> 8 & even) | (high & ~even);
}

/// Columns left out again and again, by style.
bool isGap(Qt::PenStyle style, int x) {
    switch (style) {
    case Qt::DashLine:
        return x % 9 >= 6;
    case Qt::DotLine:
        return x % 4 >= 2;
    case Qt::DashDotLine:
        return x % 14 >= 11 || (x % 14 >= 6 && x % 14 < 9);
    case Qt::DashDotDotLine:
        return x % 19 >= 6 && (x % 19 - 6) % 5 < 3;
    case Qt::CustomDashLine: // of a twin
        return x % 8 >= 2;
    default:
        return false;
    }
}

} // namespace

/// Premultiplied pixels of a rectangle, column by column: a curve is one vertical run in each. Columns
/// may be painted on several threads.
class DenseCurves::Canvas {
public:
    Canvas(std::size_t width, std::size_t height)
        : m_width(width), m_height(height), m_pixels(width * height) {}

    /// Covers the rows from top to bottom, which may be anywhere; the two ends in part.
    void fill(std::size_t x, double top, double bottom, const Paint& paint) {
        top = std::max(top, 0.0);
        bottom = std::min(bottom, static_cast<double>(m_height));
        if (!(top < bottom))
            return;
        QRgb* const column = m_pixels.data() + x * m_height;
        const auto first = static_cast<std::size_t>(top);
        const auto end = static_cast<std::size_t>(bottom);
        if (first == end) {
            blend(column[first], paint, bottom - top);
            return;
        }
        blend(column[first], paint, static_cast<double>(first + 1) - top);
        if (paint.alpha == 1)
            std::fill(column + first + 1, column + end, paint.opaque);
        else
            std::for_each(column + first + 1, column + end,
                          [&](QRgb& pixel) { blend(pixel, paint, 1); });
        if (end < m_height)
            blend(column[end], paint, bottom - static_cast<double>(end));
    }

    [[nodiscard]] QImage image() const {
        QImage image(static_cast<int>(m_width), static_cast<int>(m_height),
                     QImage::Format_ARGB32_Premultiplied);
        constexpr std::size_t tile = 16; // a cache line of pixels
        const auto stride = static_cast<std::size_t>(image.bytesPerLine()) / sizeof(QRgb);
        auto* const rows = reinterpret_cast<QRgb*>(image.bits());
        for (std::size_t left = 0; left < m_width; left += tile)
            for (std::size_t y = 0; y < m_height; ++y)
                for (std::size_t x = left; x < std::min(left + tile, m_width); ++x)
                    rows[y * stride + x] = m_pixels[x * m_height + y];
        return image;
    }

private:
    std::size_t m_width, m_height;
    std::vector<QRgb> m_pixels;
};

DenseCurves::DenseCurves(QCustomPlot& plot) : QCPAbstractItem(&plot) {
    setSelectable(false);
}

PixelGrid DenseCurves::gridOf(double pixelRatio) const {
    const QCPRange steps = mParentPlot->xAxis->range();
    const QCPRange values = mParentPlot->yAxis->range();
    const QSizeF size = QSizeF(mParentPlot->axisRect()->size()) * pixelRatio;
    return {steps.lower,
            steps.upper,
            static_cast<std::size_t>(qCeil(size.width())),
            values.lower,
            values.upper,
            static_cast<std::size_t>(qCeil(size.height())),
            mParentPlot->yAxis->scaleType() == QCPAxis::stLogarithmic};
}

void DenseCurves::draw(QCPPainter* painter) {
    if (m_curves.empty())
        return;
    if (painter->modes().testFlag(QCPPainter::pmVectorized))
        drawLines(painter);
    else
        drawPixels(painter);
}

void DenseCurves::drawLines(QCPPainter* painter) const {
    const PixelGrid grid = gridOf(1);
    const QPointF corner = mParentPlot->axisRect()->rect().topLeft();
    for (const DenseCurve& curve : m_curves) {
        QPolygonF line;
        for (const PixelPoint& point : decimatedPixels(curve.steps, curve.values, grid))
            line.append(corner + QPointF(point.x, point.y));
        painter->setPen(curve.pen);
        painter->drawPolyline(line);
    }
}

void DenseCurves::decimateAll(const PixelGrid& grid) {
    m_grid = grid;
    m_runs.resize(m_curves.size());
    std::vector<std::size_t> positions(m_curves.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    QtConcurrent::blockingMap(positions, [&](std::size_t c) {
        const DenseCurve& curve = m_curves[c];
        m_runs[c] = columnRuns(decimatedPixels(curve.steps, curve.values, grid), grid.columns);
    });
}

void DenseCurves::paintColumns(Canvas& canvas, std::size_t from, std::size_t to,
                               double pixelRatio) const {
    for (std::size_t c = 0; c < m_curves.size(); ++c) {
        const QPen& pen = m_curves[c].pen;
        const Paint paint(pen.color());
        const double half = pen.widthF() * pixelRatio / 2;
        for (std::size_t column = from; column < to; ++column)
            if (const ColumnRun& run = m_runs[c][column];
                !run.isEmpty() &&
                !isGap(pen.style(), static_cast<int>(static_cast<double>(column) / pixelRatio)))
                canvas.fill(column, run.top - half, run.bottom + half, paint);
    }
}

void DenseCurves::drawPixels(QCPPainter* painter) {
    const double ratio = painter->device()->devicePixelRatioF();
    const PixelGrid grid = gridOf(ratio);
    if (grid != m_grid)
        decimateAll(grid);
    Canvas canvas(grid.columns, grid.rows);
    std::vector<std::size_t> stripes;
    constexpr std::size_t stripe = 64;
    for (std::size_t from = 0; from < grid.columns; from += stripe)
        stripes.push_back(from);
    QtConcurrent::blockingMap(stripes, [&](std::size_t from) {
        paintColumns(canvas, from, std::min(from + stripe, grid.columns), ratio);
    });
    QImage image = canvas.image();
    image.setDevicePixelRatio(ratio);
    painter->drawImage(mParentPlot->axisRect()->rect().topLeft(), image);
}

} // namespace driftscope
