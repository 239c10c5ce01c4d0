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

void paint(QCustomPlot& plot, QPaintDevice& device, QSize size, bool isVector) {
    QCPPainter painter(&device);
    painter.setMode(QCPPainter::pmVectorized, isVector);
    plot.toPainter(&painter, size.width(), size.height());
}

/// Replaces what says when a file was made by as many zeros, so that offsets in the file stay right.
void removeTimes(QByteArray& pdf) {
    static const QRegularExpression times(
        QStringLiteral("/CreationDate \\(D:([^)]*)\\)|/ID \\[([^\\]]*)\\]"));
    auto match = times.globalMatch(QString::fromLatin1(pdf));
    while (match.hasNext()) {
        const QRegularExpressionMatch found = match.next();
        const int group = found.lastCapturedIndex();
        for (qsizetype i = found.capturedStart(group); i < found.capturedEnd(group); ++i)
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
    paint(plot, svg, size, true);
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
    case PictureFormat::Png: return renderPng(plot, size);
    case PictureFormat::Svg: return renderSvg(plot, size, title);
    case PictureFormat::Pdf: return renderPdf(plot, size, title);
    }
    return {};
}

} // namespace driftscope
