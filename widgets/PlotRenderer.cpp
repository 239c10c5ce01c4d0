// SPDX-License-Identifier: GPL-3.0-or-later
#include "PlotRenderer.h"

#include <QBuffer>
#include <QImage>
#include <QPageLayout>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>

#include <qcustomplot.h>

namespace driftscope {
namespace {

constexpr int dotsPerInch = 96;

/// Covers what a zoomed plot draws beyond its axes: SVG has no clipping in Qt. While it exists, on
/// a layer of its own above the curves and below axes, title and legend.
class OutsideMask : public QCPAbstractItem {
public:
    explicit OutsideMask(QCustomPlot& plot) : QCPAbstractItem(&plot) {
        setClipToAxisRect(false);
        plot.addLayer(QStringLiteral("mask"), plot.layer(QStringLiteral("main")));
        setLayer(QStringLiteral("mask"));
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override {
        QRegion outside(mParentPlot->viewport());
        outside -= mParentPlot->axisRect()->rect();
        for (const QRect& rect : outside)
            painter->fillRect(rect, Qt::white); // as all exports are
    }
};

void paint(QCustomPlot& plot, QPaintDevice& device, QSize size, bool isVector) {
    QCPPainter painter(&device);
    painter.setMode(QCPPainter::pmVectorized, isVector);
    plot.toPainter(&painter, size.width(), size.height());
}

/// Overwrites when the file was made, and the random id that Qt 6.8 gives it, in the document and in its XMP
/// packet, without moving a byte: a PDF holds offsets into itself.
void removeTimes(QByteArray& pdf) {
    static const QRegularExpression marks(QStringLiteral(
        "/(?:Creation|Mod)Date \\(D:(\\d{14})|xmp:\\w+Date=\"([-\\dT:]{19})|/ID \\[([^\\]]*)\\]|DocumentID=\"uuid:([-\\w]*)"));
    auto match = marks.globalMatch(QString::fromLatin1(pdf));
    while (match.hasNext()) {
        const QRegularExpressionMatch found = match.next();
        if (found.hasCaptured(1))
            pdf.replace(found.capturedStart(1), 14, "20000101000000");
        if (found.hasCaptured(2))
            pdf.replace(found.capturedStart(2), 19, "2000-01-01T00:00:00");
        for (const int id : {3, 4})
            for (qsizetype i = found.capturedStart(id); i >= 0 && i < found.capturedEnd(id); ++i)
                if (std::isxdigit(static_cast<unsigned char>(pdf[i])))
                    pdf[i] = '0';
    }
}

QByteArray renderPng(QCustomPlot& plot, QSize size) {
    QImage image(size, QImage::Format_RGB32);
    image.setDotsPerMeterX(qRound(dotsPerInch / 0.0254));
    image.setDotsPerMeterY(qRound(dotsPerInch / 0.0254));
    image.fill(Qt::white);
    paint(plot, image, size, false);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

QByteArray renderSvg(QCustomPlot& plot, QSize size, const QString& title) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(size);
    svg.setViewBox(QRect(QPoint(), size));
    svg.setResolution(dotsPerInch);
    svg.setTitle(title);
    svg.setDescription(QStringLiteral("Driftscope"));
    // A plot with several axis rects draws nothing beyond them.
    auto* mask = plot.axisRectCount() == 1 ? new OutsideMask(plot) : nullptr;
    paint(plot, svg, size, true);
    if (mask) {
        plot.removeItem(mask);
        plot.removeLayer(plot.layer(QStringLiteral("mask")));
    }
    // Qt's name for the default font is no family that other programs know.
    bytes.replace("font-family=\"Sans Serif\"", "font-family=\"sans-serif\"");
    return bytes;
}

QByteArray renderPdf(QCustomPlot& plot, QSize size, const QString& title) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter pdf(&buffer);
        pdf.setResolution(dotsPerInch);
        pdf.setPageSize(QPageSize(QSizeF(size) * 72 / dotsPerInch, QPageSize::Point, {},
                                  QPageSize::ExactMatch));
        pdf.setPageMargins(QMarginsF());
        pdf.setTitle(title);
        pdf.setCreator(QStringLiteral("Driftscope"));
        paint(plot, pdf, size, true);
    }
    removeTimes(bytes);
    return bytes;
}

} // namespace

QByteArray renderPlot(QCustomPlot& plot, PictureFormat format, QSize size, const QString& title) {
    switch (format) {
    case PictureFormat::Png:
        return renderPng(plot, size);
    case PictureFormat::Svg:
        return renderSvg(plot, size, title);
    case PictureFormat::Pdf:
        return renderPdf(plot, size, title);
    }
    return {};
}

} // namespace driftscope
