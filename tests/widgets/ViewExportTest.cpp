// SPDX-License-Identifier: GPL-3.0-or-later
#include "ViewExport.h"

#include "SampleViews.h"
#include "support/TemporaryFolder.h"

#include <QImage>
#include <QPainter>
#include <QSvgRenderer>

#include <gtest/gtest.h>

#include <fstream>

namespace driftscope {
namespace {

constexpr QSize size{640, 360};

TEST(ViewExport, KnowsFormatsByTheEnding) {
    EXPECT_EQ(exportFormat("a/b.PNG"), ExportFormat::Png);
    EXPECT_EQ(exportFormat("b.csv"), ExportFormat::Csv);
    EXPECT_THROW(exportFormat("b.jpeg"), ExportError);
    EXPECT_THROW(exportFormat("png"), ExportError);
}

TEST(ViewExport, APngHasTheSizeAndIsOnWhite) {
    for (const QByteArray& bytes : {exported(test::sampleCurves(), ExportFormat::Png, size),
                                    exported(test::sampleHeatmap(), ExportFormat::Png, size)}) {
        const QImage image = QImage::fromData(bytes);
        EXPECT_EQ(image.size(), size);
        EXPECT_EQ(image.pixelColor(1, 1), QColor(Qt::white));
        QImage blank(size, image.format());
        blank.fill(Qt::white);
        EXPECT_NE(image, blank);
    }
}

TEST(ViewExport, AnSvgHasItsTextAsText) {
    const QByteArray curves = exported(test::sampleCurves(), ExportFormat::Svg, size);
    for (const char* text : {"relative L2 distance to acc 1", "step", "bit-identical", "acc 2"})
        EXPECT_TRUE(curves.contains(text)) << text;
    const QByteArray heatmap = exported(test::sampleHeatmap(), ExportFormat::Svg, size);
    for (const char* text :
         {"features.0.long_name_that_must_not_be_cut.weight", "layer", "unavailable"})
        EXPECT_TRUE(heatmap.contains(text)) << text;
}

TEST(ViewExport, AZoomedSvgKeepsCurvesWithinTheAxes) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    plot.setZoom({1.5, 2.5, 1e-6, 1e-5});
    const QByteArray zoomed = plot.render(PictureFormat::Svg, size);
    QSvgRenderer renderer(zoomed);
    ASSERT_TRUE(renderer.isValid());
    QImage image(size, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    renderer.render(&painter);
    painter.end();
    const QColor curve = Theme::light().runColor(1);
    int strayed = 0;
    for (int y = 0; y < size.height(); ++y)
        for (int x = size.width() - 15; x < size.width(); ++x) // right of the axes
            strayed += image.pixelColor(x, y) == curve;
    EXPECT_EQ(strayed, 0);
    EXPECT_TRUE(zoomed.contains("relative L2 distance"));
}

TEST(ViewExport, APdfIsAPdf) {
    const QByteArray bytes = exported(test::sampleCurves(), ExportFormat::Pdf, size);
    EXPECT_TRUE(bytes.startsWith("%PDF-"));
    EXPECT_TRUE(bytes.trimmed().endsWith("%%EOF"));
    EXPECT_TRUE(bytes.contains("/MediaBox [0 0 480.0")) << "640 pixels of 1/96 inch, in points";
}

TEST(ViewExport, TheSameViewGivesTheSameBytes) {
    for (const ExportFormat format :
         {ExportFormat::Png, ExportFormat::Svg, ExportFormat::Pdf, ExportFormat::Csv}) {
        const QByteArray first = exported(test::sampleCurves(), format, size);
        EXPECT_EQ(first, exported(test::sampleCurves(), format, size));
        EXPECT_EQ(first.contains("CreationDate"), first.contains("CreationDate (D:20000101000000"));
    }
}

TEST(ViewExport, WritesAWholeFileOrNone) {
    const test::TemporaryFolder folder;
    writeWhole(folder / "view.csv", "a,b\n");
    std::ifstream in(folder / "view.csv");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "a,b\n");
    EXPECT_THROW(writeWhole(folder / "missing" / "view.csv", "a,b\n"), ExportError);
    EXPECT_FALSE(std::filesystem::exists(folder / "missing"));
}

} // namespace
} // namespace driftscope
