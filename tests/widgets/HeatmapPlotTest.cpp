// SPDX-License-Identifier: GPL-3.0-or-later
#include "HeatmapPlot.h"

#include "SampleViews.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>
#include <qcustomplot.h>

namespace driftscope {
namespace {

class HeatmapPlotTest : public testing::Test {
protected:
    void show(const HeatmapView& view, QSize size = {1000, 400}) {
        m_plot.resize(size);
        m_plot.setView(view);
        m_plot.show();
        QTest::qWait(50); // one throttled replot
        custom().replot();
    }
    QCustomPlot& custom() { return *m_plot.findChild<QCustomPlot*>(); }
    QColor colorAt(std::size_t column) {
        const QImage image = QImage::fromData(m_plot.render(PictureFormat::Png, m_plot.size()));
        // Beside the text in the middle of the cell.
        return image.pixelColor(m_plot.centerOf(0, 0, column) - QPoint(0, 40));
    }

    HeatmapPlot m_plot;
};

HeatmapView overSteps(int steps) {
    HeatmapView view = test::sampleHeatmap();
    view.columnsAreSteps = true;
    view.columnTitle = "step";
    HeatmapPanel& panel = view.panels.front();
    panel.columnLabels.clear();
    panel.cells.clear();
    for (int step = 0; step < steps; ++step) {
        panel.columnLabels.push_back(std::to_string(step));
        panel.cells.push_back({CellKind::Value, 1e-5, "step " + std::to_string(step), 1});
    }
    return view;
}

TEST_F(HeatmapPlotTest, HoveringTellsTheCellAndEscapesIt) {
    show(test::sampleHeatmap());
    EXPECT_EQ(m_plot.readoutAt(m_plot.centerOf(0, 0, 1)), QStringLiteral("large, fc1: 0.001"));
    EXPECT_EQ(m_plot.readoutAt(m_plot.centerOf(0, 0, 5)),
              QStringLiteral("unavailable: no CUDA &lt;here&gt;"));
    EXPECT_EQ(m_plot.readoutAt(QPoint(0, 0)), QString());
}

TEST_F(HeatmapPlotTest, EveryKindOfCellHasALookOfItsOwn) {
    show(test::sampleHeatmap());
    const Theme theme = Theme::light();
    EXPECT_EQ(colorAt(0), QColor(0x440154)) << "viridis begins dark";
    EXPECT_EQ(colorAt(1), QColor(0xfde725)) << "and ends yellow";
    EXPECT_EQ(colorAt(2), theme.identical);
    EXPECT_EQ(colorAt(3), theme.nonfinite);
    EXPECT_EQ(colorAt(4), theme.reference);
    EXPECT_EQ(colorAt(6), QColor(Qt::white)) << "missing cells are transparent";
}

TEST_F(HeatmapPlotTest, LongRowLabelsAreNotCut) {
    show(test::sampleHeatmap());
    const QFontMetrics metrics(custom().axisRect()->axis(QCPAxis::atLeft)->tickLabelFont());
    EXPECT_GT(custom().axisRect()->left(), metrics.horizontalAdvance(QString::fromStdString(
                                               m_plot.view().panels[0].rowLabels[0])));
}

TEST_F(HeatmapPlotTest, StepsHaveRoundTicksThatFit) {
    show(overSteps(2000));
    QCPAxis* axis = custom().axisRect()->axis(QCPAxis::atBottom);
    const QVector<QString> labels = axis->tickVectorLabels();
    ASSERT_GE(labels.size(), 3);
    const QFontMetrics metrics(axis->tickLabelFont());
    int used = 0;
    for (const QString& label : labels) {
        EXPECT_EQ(label.toInt() % 50, 0) << label.toStdString();
        used += metrics.horizontalAdvance(label) + 8;
    }
    EXPECT_LT(used, custom().axisRect()->width());
}

TEST_F(HeatmapPlotTest, AClickPicksStepAndRun) {
    show(overSteps(10));
    QSignalSpy steps(&m_plot, &PlotWidget::stepPicked);
    QSignalSpy runs(&m_plot, &PlotWidget::runPicked);
    QTest::mouseClick(&custom(), Qt::LeftButton, {}, m_plot.centerOf(0, 0, 7));
    ASSERT_EQ(steps.size(), 1);
    EXPECT_EQ(steps[0][0].toLongLong(), 7);
    ASSERT_EQ(runs.size(), 1);
    EXPECT_EQ(runs[0][0].toInt(), 1);
}

TEST_F(HeatmapPlotTest, PanelsAreBesideEachOtherAndShareTheScale) {
    HeatmapView view = test::sampleHeatmap();
    view.panels.push_back(view.panels.front());
    view.panels[0].title = "cpu isa default";
    view.panels[1].title = "cpu isa avx2";
    show(view);
    EXPECT_EQ(custom().axisRectCount(), 2);
    EXPECT_LT(m_plot.centerOf(0, 0, 6).x(), m_plot.centerOf(1, 0, 0).x());
    EXPECT_EQ(m_plot.centerOf(0, 0, 0).y(), m_plot.centerOf(1, 0, 0).y());
    EXPECT_EQ(m_plot.findChildren<QCPColorScale*>().size(), 1);
    show(test::sampleHeatmap()); // and back to one
    EXPECT_EQ(custom().axisRectCount(), 1);
}

TEST_F(HeatmapPlotTest, TakesViewsWithoutCellsOrValues) {
    show({});
    HeatmapView view = test::sampleHeatmap();
    view.smallest = view.largest = 0;
    for (HeatmapCell& cell : view.panels[0].cells)
        cell.kind = CellKind::Identical;
    show(view);
    EXPECT_EQ(colorAt(0), Theme::light().identical);
}

} // namespace
} // namespace driftscope
