// SPDX-License-Identifier: GPL-3.0-or-later
// The pages of single runs' values in the whole window, on real study folders.
#include "WindowTest.h"

#include "CurvePlot.h"
#include "DistributionPlot.h"
#include "HeatmapPlot.h"
#include "support/TinyStudy.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QImage>
#include <QLabel>
#include <QTest>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace driftscope {
namespace {

class ViewPagesTest : public test::WindowTest {
protected:
    /// thr 2 is identical to thr 1; thr 3 is off by `difference` in fc1.weight[0].
    void open(double difference) {
        const StudyFolder study = test::tinyStudy(m_folder / "study");
        for (std::size_t i = 0; i < study.runs.size(); ++i)
            test::writeRun(study.runFile(study.runs[i]), test::tinyRun(study.runs[i], i == 2 ? difference : 0));
        m_window.show();
        m_window.openPaths({QString::fromStdString((m_folder / "study").string())});
        ASSERT_TRUE(QTest::qWaitFor([&] { return find<CurvePlot>("curvePlot").view().curves.size() == 2; }));
    }
    std::string exportedCsv() {
        const std::filesystem::path file = m_folder / "view.csv";
        std::filesystem::remove(file);
        m_window.exportTo(QString::fromStdString(file.string()));
        EXPECT_TRUE(QTest::qWaitFor([&] { return std::filesystem::exists(file); }));
        std::ostringstream text;
        text << std::ifstream(file).rdbuf();
        return text.str();
    }
};

TEST_F(ViewPagesTest, LossAndItsDifference) {
    open(1e-3);
    m_window.showView(QStringLiteral("loss"));
    CurvePlot& plot = find<CurvePlot>("lossPlot");
    ASSERT_TRUE(QTest::qWaitFor([&] { return plot.view().curves.size() == 3; })) << "the reference too";
    EXPECT_TRUE(plot.view().areValues);
    EXPECT_EQ(plot.view().curves[0].values, (std::vector<double>{0.5, 0.5}));
    find<QCheckBox>("lossDifferences").click();
    ASSERT_TRUE(QTest::qWaitFor([&] { return plot.view().curves.size() == 2; }));
    EXPECT_EQ(plot.view().curves[1].kinds.back(), PointKind::Identical);
    QComboBox& quantity = find<QComboBox>("lossQuantity");
    quantity.setCurrentIndex(quantity.findText(QStringLiteral("learning rate")));
    EXPECT_TRUE(quantity.toolTip().contains(QStringLiteral("update")));
    EXPECT_TRUE(QTest::qWaitFor([&] { return plot.view().yTitle.find("learning rate") != std::string::npos; }));
}

TEST_F(ViewPagesTest, UlpOfTheFarthestRun) {
    open(0x1p-23);
    m_window.showView(QStringLiteral("ulp"));
    HeatmapPlot& plot = find<HeatmapPlot>("ulpPlot");
    ASSERT_TRUE(QTest::qWaitFor([&] { return !plot.view().panels.empty() && plot.view().panels[0].rowLabels.size() == 3; }));
    EXPECT_EQ(plot.view().title, "thr 3, whole model");
    EXPECT_TRUE(exportedCsv().starts_with("panel,distance (ULP),step,"));
}

TEST_F(ViewPagesTest, DistributionAtTheStepInWords) {
    open(1);
    m_window.showView(QStringLiteral("distributions"));
    DistributionPlot& plot = find<DistributionPlot>("distributionPlot");
    ASSERT_TRUE(QTest::qWaitFor([&] { return plot.distribution().ofDifference.count == 1; }));
    EXPECT_EQ(plot.distribution().step, 2);
    const QString words = find<QLabel>("distributionSummary").text();
    EXPECT_TRUE(words.contains(QStringLiteral("thr 3: mean 3, standard deviation 0.816, from 2 to 4"))) << words.toStdString();
    const std::string csv = exportedCsv();
    EXPECT_NE(csv.find("difference,0,0,2\n"), std::string::npos) << csv;
    EXPECT_FALSE(QImage::fromData(plot.render(PictureFormat::Png, {640, 400})).isNull());
}

TEST_F(ViewPagesTest, AttributionRanksTheSettings) {
    open(1);
    m_window.showView(QStringLiteral("attribution"));
    QLabel& sentences = find<QLabel>("attributionSentences");
    ASSERT_TRUE(QTest::qWaitFor([&] { return !sentences.text().isEmpty(); }));
    // 1 – 2 is identical; fc1.weight[0] of 3 is 2 off: 2 / ‖(1, 2, 4)‖, and 2 / ‖(3, 2, 4)‖ the other way round
    EXPECT_TRUE(sentences.text().startsWith(QStringLiteral("threads moves the weights by 0.44 (median of 2 of 3 pairs")))
        << sentences.text().toStdString();
    const HeatmapPanel& panel = find<HeatmapPlot>("attributionPlot").view().panels.front();
    EXPECT_EQ(panel.columnLabels, (std::vector<std::string>{"whole model", "fc1", "out"}));
    ASSERT_EQ(panel.cells.size(), 3U);
    EXPECT_EQ(panel.cells[0].kind, CellKind::Value);
    EXPECT_EQ(panel.cells[2].kind, CellKind::Identical);
}

/// The pages refresh themselves by what has changed: another study is all other.
TEST_F(ViewPagesTest, AnotherStudyLeavesNothingOfTheFirst) {
    open(1);
    m_window.showView(QStringLiteral("attribution"));
    QLabel& sentences = find<QLabel>("attributionSentences");
    ASSERT_TRUE(QTest::qWaitFor([&] { return !sentences.text().isEmpty(); }));
    const StudyFolder other = test::tinyStudy(m_folder / "other", "seed = [1, 2]");
    for (const RunConfig& run : other.runs)
        test::writeRun(other.runFile(run), test::tinyRun(run, 0));
    m_window.openPaths({QString::fromStdString((m_folder / "other").string())});
    EXPECT_TRUE(QTest::qWaitFor([&] { return sentences.text() == QStringLiteral("seed changes no bit (1 pairs)."); }))
        << sentences.text().toStdString();
    m_window.showView(QStringLiteral("distributions"));
    EXPECT_TRUE(QTest::qWaitFor([&] { return find<DistributionPlot>("distributionPlot").distribution().identical == 3; }));
}

} // namespace
} // namespace driftscope
