// SPDX-License-Identifier: GPL-3.0-or-later
#include "CurvePlot.h"

#include "SampleViews.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>
#include <qcustomplot.h>

#include <cmath>
#include <numeric>

namespace driftscope {
namespace {

QCustomPlot& customPlot(CurvePlot& plot) {
    return *plot.findChild<QCustomPlot*>();
}

std::vector<double> plottedValues(CurvePlot& plot, int graph = 0) {
    std::vector<double> values;
    for (const QCPGraphData& point : *customPlot(plot).graph(graph)->data())
        values.push_back(point.value);
    return values;
}

bool hasVisibleText(CurvePlot& plot, const QString& text) {
    for (int i = 0; i < customPlot(plot).itemCount(); ++i)
        if (const auto* item = qobject_cast<QCPItemText*>(customPlot(plot).item(i)))
            if (item->visible() && item->text() == text)
                return true;
    return false;
}

/// Shown and laid out at that size.
void lay(PlotWidget& plot) {
    plot.resize(800, 600);
    plot.show();
    QTest::qWait(1);
    plot.findChild<QCustomPlot*>()->replot();
}

TEST(CurvePlot, DrawsEveryKindOfPointAtAFinitePositiveValue) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    const std::vector<double> values = plottedValues(plot);
    ASSERT_EQ(values.size(), 5U);
    for (const double value : values) {
        EXPECT_TRUE(std::isfinite(value));
        EXPECT_GT(value, 0);
    }
    EXPECT_EQ(values[0], 1e-9); // identical: on the floor
    EXPECT_EQ(values[1], 1e-7);
    EXPECT_GT(values[2], 1e-9); // zero: between the floor and the smallest value
    EXPECT_LT(values[2], 1e-7);
    EXPECT_EQ(values[3], 1e-3);
    EXPECT_GT(values[4], 1e-3); // not finite: above all values
    EXPECT_LE(values[4], customPlot(plot).yAxis->range().upper);
    EXPECT_GE(values[0], customPlot(plot).yAxis->range().lower);
}

TEST(CurvePlot, DrawsFiniteValuesOnALinearAxisToo) {
    CurveView view = test::sampleCurves();
    view.isLogarithmic = false;
    CurvePlot plot;
    plot.setView(view);
    const std::vector<double> values = plottedValues(plot);
    EXPECT_EQ(values[0], 0);
    EXPECT_EQ(values[2], 0);
    EXPECT_GT(values[4], 1e-3);
    EXPECT_TRUE(std::isfinite(values[4]));
}

TEST(CurvePlot, LabelsFloorZeroAndTopOnlyWhereTheyHavePoints) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    EXPECT_TRUE(hasVisibleText(plot, QStringLiteral("bit-identical")));
    EXPECT_TRUE(hasVisibleText(plot, QStringLiteral("0, though bits differ")));
    EXPECT_TRUE(hasVisibleText(plot, QStringLiteral("not finite, or not kept")));

    CurveView view = test::sampleCurves();
    view.curves[0].kinds = std::vector<PointKind>(5, PointKind::Value);
    view.curves[0].values = std::vector<double>(5, 1e-5);
    plot.setView(view);
    EXPECT_TRUE(hasVisibleText(plot, QStringLiteral("bit-identical")))
        << "a logarithmic axis always says where 0 is";
    EXPECT_FALSE(hasVisibleText(plot, QStringLiteral("0, though bits differ")));
    EXPECT_FALSE(hasVisibleText(plot, QStringLiteral("not finite, or not kept")));
}

TEST(CurvePlot, ShowsARunThatIsIdenticalThroughout) {
    CurveView view = test::sampleCurves();
    view.smallest = view.largest = 0;
    view.floor = 1e-8;
    view.curves[0].kinds = std::vector<PointKind>(5, PointKind::Identical);
    view.curves[0].firstDivergence.reset();
    CurvePlot plot;
    plot.setView(view);
    for (const double value : plottedValues(plot))
        EXPECT_EQ(value, 1e-8);
    const QCPRange range = customPlot(plot).yAxis->range();
    EXPECT_TRUE(range.contains(1e-8));
    EXPECT_TRUE(std::isfinite(range.upper));
    EXPECT_EQ(customPlot(plot).graph(0)->name(), QStringLiteral("acc 2 — bit-identical"));
}

/// Many points, all at 1e-5 but for one identical, one at 1e-3 and one that is not finite.
CurveView denseCurves() {
    CurveView view = test::sampleCurves();
    Curve& curve = view.curves.front();
    curve.steps.resize(60'000);
    std::iota(curve.steps.begin(), curve.steps.end(), 0);
    curve.values.assign(curve.steps.size(), 1e-5);
    curve.kinds.assign(curve.steps.size(), PointKind::Value);
    curve.kinds[10'000] = PointKind::Identical;
    curve.values[30'000] = 1e-3;
    curve.kinds[50'000] = PointKind::Nonfinite;
    return view;
}

TEST(CurvePlot, ManyPointsAreDrawnPixelByPixelAndReadOutExactly) {
    CurvePlot plot;
    plot.setView(denseCurves());
    lay(plot);
    QCustomPlot& custom = customPlot(plot);
    EXPECT_EQ(custom.graph(0)->pen().widthF(), 1);
    const auto at = [&](double step, double value) {
        return QPoint(qRound(custom.xAxis->coordToPixel(step)),
                      qRound(custom.yAxis->coordToPixel(value)));
    };
    const QImage image = custom.toPixmap().toImage();
    const auto isDrawn = [&](QPoint point) {
        for (int dx = -1; dx <= 1; ++dx)
            for (int dy = -1; dy <= 1; ++dy)
                if (QColor(image.pixel(point + QPoint(dx, dy))).blue() >
                    QColor(image.pixel(point + QPoint(dx, dy))).red() + 60)
                    return true;
        return false;
    };
    EXPECT_TRUE(isDrawn(at(5'000, 1e-5)));
    EXPECT_TRUE(isDrawn(at(10'000, 2e-9))) << "a single point on the floor";
    EXPECT_TRUE(isDrawn(at(30'000, 8e-4))) << "a single peak";
    EXPECT_TRUE(isDrawn(at(50'000, 2e-3))) << "a single point that is not finite";
    EXPECT_FALSE(isDrawn(at(20'000, 1e-4)));
    EXPECT_EQ(plot.readoutAt(at(20'000, 1e-5)).section(QLatin1Char(' '), -1),
              QStringLiteral("1e-05"));
    plot.setZoom({29'999, 30'001, 1e-9, 1e-2});
    custom.replot();
    EXPECT_EQ(plot.readoutAt(at(30'000, 1e-3)),
              QStringLiteral("<b>acc 2</b><br>step 30000: 0.001"));
}

TEST(CurvePlot, ManyPointsAreLinesInVectorGraphics) {
    CurvePlot plot;
    plot.setView(denseCurves());
    const QByteArray svg = plot.render(PictureFormat::Svg, QSize(800, 600));
    EXPECT_TRUE(svg.contains("<polyline"));
    EXPECT_FALSE(svg.contains("<image"));
    EXPECT_LT(svg.size(), 200'000) << "not all points";
}

TEST(CurvePlot, TakesAViewWithoutCurvesAndOneWithoutPoints) {
    CurvePlot plot;
    plot.setView({});
    EXPECT_EQ(customPlot(plot).graphCount(), 0);
    CurveView view = test::sampleCurves();
    view.curves[0] = {};
    plot.setView(view);
    EXPECT_TRUE(plottedValues(plot).empty());
    lay(plot);
}

TEST(CurvePlot, MarksTheFirstDivergence) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    const auto marker = customPlot(plot).graph(1)->data();
    ASSERT_EQ(marker->size(), 1);
    EXPECT_EQ(marker->at(0)->key, 1);
    EXPECT_EQ(marker->at(0)->value, 1e-7);
}

TEST(CurvePlot, ReadsOutTheNearestPoint) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    lay(plot);
    const QCustomPlot& custom = customPlot(plot);
    const auto at = [&](double step, double value) {
        return QPoint(qRound(custom.xAxis->coordToPixel(step)),
                      qRound(custom.yAxis->coordToPixel(value)));
    };
    EXPECT_EQ(plot.readoutAt(at(3, 1e-3)), QStringLiteral("<b>acc 2</b><br>step 3: 0.001"));
    EXPECT_EQ(plot.readoutAt(at(0, 1e-9)), QStringLiteral("<b>acc 2</b><br>step 0: bit-identical"));
    EXPECT_EQ(plot.readoutAt(QPoint(1, 1)), QString()) << "outside the axes";
}

TEST(CurvePlot, AClickPicksStepRunAndScope) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    lay(plot);
    QCustomPlot& custom = customPlot(plot);
    QSignalSpy steps(&plot, &PlotWidget::stepPicked);
    QSignalSpy runs(&plot, &PlotWidget::runPicked);
    QTest::mouseClick(
        &custom, Qt::LeftButton, {},
        QPoint(qRound(custom.xAxis->coordToPixel(3)), qRound(custom.yAxis->coordToPixel(1e-3))));
    ASSERT_EQ(steps.size(), 1);
    EXPECT_EQ(steps[0][0].toLongLong(), 3);
    ASSERT_EQ(runs.size(), 1);
    EXPECT_EQ(runs[0][0].toInt(), 1);
}

TEST(CurvePlot, KeepsTheUsersZoomUntilTheQuantityChanges) {
    CurvePlot plot;
    plot.setView(test::sampleCurves());
    EXPECT_FALSE(plot.zoom());
    plot.setZoom({1, 2, 1e-8, 1e-6});
    plot.setView(test::sampleCurves());
    ASSERT_TRUE(plot.zoom());
    EXPECT_EQ(plot.zoom()->left, 1);
    CurveView other = test::sampleCurves();
    other.yTitle = "largest ULP distance to acc 1";
    plot.setView(other);
    EXPECT_FALSE(plot.zoom());
}

TEST(CurvePlot, HasALegendUpToItsLimitAndFillsTheWidthWithoutOne) {
    CurveView view = test::sampleCurves();
    view.curves.resize(8, view.curves.front());
    CurvePlot plot;
    plot.setView(view);
    EXPECT_TRUE(customPlot(plot).legend->visible());
    view.curves.resize(9, view.curves.front());
    plot.setView(view);
    EXPECT_FALSE(customPlot(plot).legend->visible());
    lay(plot);
    EXPECT_GT(customPlot(plot).axisRect()->width(), 600);
}

/// The sample curve and its twin, half as high.
CurveView curvesWithTwin() {
    CurveView view = test::sampleCurves();
    Curve twin = view.curves.front();
    twin.name = "acc 2 · float64 twin × 2²⁹";
    twin.isTwin = true;
    twin.scale = 0x1p29;
    for (double& value : twin.values)
        value /= 2;
    view.curves.push_back(std::move(twin));
    return view;
}

TEST(CurvePlot, ATwinHasItsRunsColorALineOfItsOwnAndNoMarker) {
    CurvePlot plot;
    plot.setView(curvesWithTwin());
    const QPen run = customPlot(plot).graph(0)->pen();
    const QPen twin = customPlot(plot).graph(2)->pen();
    EXPECT_EQ(twin.color(), run.color());
    EXPECT_EQ(run.style(), Qt::SolidLine);
    EXPECT_EQ(twin.style(), Qt::CustomDashLine);
    EXPECT_EQ(customPlot(plot).graph(1)->dataCount(), 1) << "the run's first divergence";
    EXPECT_EQ(customPlot(plot).graph(3)->dataCount(), 0);
    const std::vector<double> values = plottedValues(plot, 2);
    EXPECT_EQ(values[0], 1e-9) << "identical twins lie on the floor as well";
    EXPECT_EQ(values[1], 0.5e-7);
}

TEST(CurvePlot, TwinsHaveOneEntryInTheLegend) {
    CurvePlot plot;
    plot.setView(curvesWithTwin());
    const auto names = [&plot] {
        QStringList texts;
        QCPLegend& legend = *customPlot(plot).legend;
        for (int i = 0; i < legend.itemCount(); ++i)
            if (auto* item = qobject_cast<QCPPlottableLegendItem*>(legend.item(i)))
                texts << item->plottable()->name();
        return texts;
    };
    const QString key = QStringLiteral("the run's float64 twin × 2²⁹");
    EXPECT_EQ(names(), (QStringList{QStringLiteral("acc 2"), key}));
    CurveView alone = curvesWithTwin();
    alone.curves.erase(alone.curves.begin());
    plot.setView(alone);
    EXPECT_EQ(names(), QStringList{QStringLiteral("acc 2 · float64 twin × 2²⁹")})
        << "without its run it is a curve as any";
    EXPECT_EQ(customPlot(plot).graphCount(), 2);

    CurveView many = curvesWithTwin();
    many.curves.insert(many.curves.begin(), 7, many.curves.front());
    plot.setView(many);
    EXPECT_TRUE(customPlot(plot).legend->visible()) << "8 runs; twins don't count";
    many.curves.insert(many.curves.begin(), many.curves.front());
    plot.setView(many);
    EXPECT_FALSE(customPlot(plot).legend->visible());
    plot.setView({});
    EXPECT_EQ(customPlot(plot).graphCount(), 0);
}

TEST(CurvePlot, ALongTwinHasGapsToo) {
    CurveView view = denseCurves();
    view.curves.front().isTwin = true;
    CurvePlot plot;
    plot.setView(view);
    lay(plot);
    QCustomPlot& custom = customPlot(plot);
    const QImage image = custom.toPixmap().toImage();
    const int y = qRound(custom.yAxis->coordToPixel(1e-5));
    const int left = qRound(custom.xAxis->coordToPixel(12'000));
    int drawn = 0;
    for (int x = left; x < left + 80; ++x) {
        const auto isBlue = [&](int dy) {
            const QColor color(image.pixel(x, y + dy));
            return color.blue() > color.red() + 60;
        };
        drawn += isBlue(-1) || isBlue(0) || isBlue(1);
    }
    EXPECT_GT(drawn, 10);
    EXPECT_LT(drawn, 40);
}

} // namespace
} // namespace driftscope
