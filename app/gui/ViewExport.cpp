// SPDX-License-Identifier: GPL-3.0-or-later
#include "ViewExport.h"

#include "DistributionPlot.h"
#include "HeatmapPlot.h"

#include <QSaveFile>

#include <algorithm>

namespace driftscope {
namespace {

/// There are no trees beside an exported plot, so that its legend names more.
constexpr std::size_t exportedLegend = 40;

PictureFormat pictureFormat(ExportFormat format) {
    return format == ExportFormat::Png   ? PictureFormat::Png
           : format == ExportFormat::Svg ? PictureFormat::Svg
                                         : PictureFormat::Pdf;
}

} // namespace

ExportFormat exportFormat(const std::filesystem::path& file) {
    std::string ending = file.extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    if (ending == ".png")
        return ExportFormat::Png;
    if (ending == ".svg")
        return ExportFormat::Svg;
    if (ending == ".pdf")
        return ExportFormat::Pdf;
    if (ending == ".csv")
        return ExportFormat::Csv;
    throw ExportError(file.string() + ": the name must end in .png, .svg, .pdf or .csv");
}

QByteArray exported(const CurveView& view, ExportFormat format, QSize size,
                    std::optional<CurvePlot::Ranges> zoom) {
    if (format == ExportFormat::Csv)
        return QByteArray::fromStdString(toCsv(view));
    CurvePlot plot;
    plot.setLegendLimit(exportedLegend);
    plot.setView(view);
    if (zoom)
        plot.setZoom(*zoom);
    return plot.render(pictureFormat(format), size);
}

QByteArray exported(const HeatmapView& view, ExportFormat format, QSize size) {
    if (format == ExportFormat::Csv)
        return QByteArray::fromStdString(toCsv(view));
    HeatmapPlot plot;
    plot.setView(view);
    return plot.render(pictureFormat(format), size);
}

QByteArray exported(const Distribution& distribution, std::size_t run, ExportFormat format, QSize size) {
    if (format == ExportFormat::Csv)
        return QByteArray::fromStdString(toCsv(distribution));
    DistributionPlot plot;
    plot.setDistribution(distribution, run);
    return plot.render(pictureFormat(format), size);
}

void writeWhole(const std::filesystem::path& file, const QByteArray& bytes) {
    QSaveFile out(QString::fromStdString(file.string()));
    if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size() || !out.commit())
        throw ExportError(file.string() +
                          ": cannot be written: " + out.errorString().toStdString());
}

} // namespace driftscope
