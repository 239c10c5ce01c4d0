// SPDX-License-Identifier: GPL-3.0-or-later
// The whole window on real study folders, without any training.
#include "WindowTest.h"

#include "CommandPalette.h"
#include "Commands.h"
#include "CurvePlot.h"
#include "HeatmapPlot.h"
#include "Options.h"
#include "RunsPanel.h"
#include "ShortcutSheet.h"
#include "ViewPage.h"
#include "support/TinyStudy.h"

#include <QAbstractItemModelTester>
#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QImage>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QSet>
#include <QSlider>
#include <QTest>
#include <QWidgetAction>

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

namespace driftscope {
namespace {

QString string(const std::filesystem::path& path) {
    return QString::fromStdString(path.string());
}

class MainWindowTest : public test::WindowTest {
protected:
    MainWindowTest() {
        const StudyFolder study = test::tinyStudy(m_folder / "study");
        for (std::size_t i = 0; i < study.runs.size(); ++i)
            test::writeRun(study.runFile(study.runs[i]),
                           test::tinyRun(study.runs[i], i == 2 ? 1e-3 : 0));
        m_window.show();
    }
    QString message() { return find<QLabel>("messageText").text(); }
    CurvePlot& curves() { return find<CurvePlot>("curvePlot"); }
    HeatmapPlot& heatmap() { return find<HeatmapPlot>("heatmapPlot"); }
    std::filesystem::path runFile(const char* id) {
        return m_folder / "study" / "runs" / (std::string(id) + ".h5");
    }

    void open(const QStringList& paths, std::size_t curveCount) {
        m_window.openPaths(paths);
        ASSERT_TRUE(QTest::qWaitFor([&] { return curves().view().curves.size() == curveCount; }))
            << message().toStdString();
    }
    void openStudy() { open({string(m_folder / "study")}, 2); }
};

TEST_F(MainWindowTest, EveryActionHasNameShortcutAndToolTip) {
    QSet<QString> names;
    QSet<QString> shortcuts;
    for (const QAction* action : m_window.findChildren<QAction*>()) {
        if (action->parent() && action->parent()->objectName().endsWith(QLatin1String("View")))
            continue; // a view's dock can't be closed, so that its own toggle does nothing
        if (action->isSeparator() || action->menu() || qobject_cast<const QWidgetAction*>(action) ||
            action->objectName().startsWith(QLatin1String("_q_"))) // of Qt's own widgets
            continue;
        const std::string name =
            action->objectName().toStdString() + " / " + action->text().toStdString();
        EXPECT_FALSE(action->objectName().isEmpty()) << name;
        EXPECT_FALSE(action->shortcut().isEmpty()) << name;
        EXPECT_FALSE(action->toolTip().isEmpty()) << name;
        EXPECT_FALSE(names.contains(action->objectName())) << name;
        EXPECT_FALSE(shortcuts.contains(action->shortcut().toString())) << name;
        names << action->objectName();
        shortcuts << action->shortcut().toString();
    }
    EXPECT_GT(names.size(), 25);
}

TEST_F(MainWindowTest, AStudyFolderShowsItsRunsAndCurves) {
    openStudy();
    const CurveView& view = curves().view();
    EXPECT_FALSE(view.curves[0].firstDivergence) << "thr 2 is identical";
    EXPECT_EQ(view.curves[1].firstDivergence, 1);
    EXPECT_TRUE(QString::fromStdString(view.yTitle).contains(QStringLiteral("thr 1")));
    EXPECT_EQ(m_window.findChild<RunsPanel*>()->model().rowCount(), 3);
    EXPECT_EQ(find<QLabel>("runStatus").text(),
              QStringLiteral("3 of 3 runs · %1").arg(string(m_folder / "study")));
    EXPECT_EQ(find<QSlider>("stepSlider").maximum(), 2);
    EXPECT_EQ(find<QSlider>("stepSlider").value(), 2) << "follows the last step";
}

TEST_F(MainWindowTest, ThePaletteFindsAndRunsACommand) {
    openStudy();
    find<QAction>("commandPalette").trigger();
    auto* palette = m_window.findChild<CommandPalette*>();
    ASSERT_TRUE(palette);
    CommandModel& model = palette->model();
    const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setTyped(QStringLiteral("attrib"));
    ASSERT_GT(model.rowCount(), 0);
    model.run(0);
    EXPECT_TRUE(find<QLabel>("attributionSentences").isVisible() || find<QWidget>("attributionPlot").isVisible());
    model.setTyped(QStringLiteral("1"));
    bool hasStep = false;
    for (int row = 0; row < model.rowCount(); ++row)
        if (model.data(model.index(row), Qt::DisplayRole).toString().contains(QStringLiteral("step 1"), Qt::CaseInsensitive)) {
            model.run(row);
            hasStep = true;
            break;
        }
    EXPECT_TRUE(hasStep);
    EXPECT_EQ(find<QSlider>("stepSlider").value(), 1);
}

TEST_F(MainWindowTest, ThePaletteHasMetricsAndRuns) {
    openStudy();
    find<QAction>("commandPalette").trigger();
    CommandModel& model = m_window.findChild<CommandPalette*>()->model();
    const auto runFirst = [&](const char* typed, const char* place) {
        model.setTyped(QString::fromUtf8(typed));
        for (int row = 0; row < model.rowCount(); ++row)
            if (model.index(row).data(CommandModel::PlaceRole).toString() == QLatin1String(place))
                return model.run(row);
        ADD_FAILURE() << typed << ": no " << place;
    };
    runFirst("cosine", "Metric");
    EXPECT_TRUE(QTest::qWaitFor([&] { return curves().view().yTitle.starts_with("cosine distance"); }));
    EXPECT_EQ(find<QComboBox>("metric").currentText(), QStringLiteral("cosine distance"));
    runFirst("thr 3", "Run");
    EXPECT_EQ(m_window.findChild<RunsPanel*>()->selectedRun(), 2U);
}

TEST_F(MainWindowTest, TheCommandLineKnowsEveryView) {
    std::vector<std::string> ids;
    for (const ViewPage* page : m_window.findChildren<ViewPage*>())
        ids.push_back(page->info().id.toStdString());
    ASSERT_GE(ids.size(), 6U);
    for (const std::string& id : ids) {
        const char* arguments[] = {"driftscope", "--view", id.c_str(), "f"};
        const auto parsed = parseOptions(4, arguments);
        EXPECT_TRUE(std::holds_alternative<Options>(parsed)) << id;
    }
}

TEST_F(MainWindowTest, TheShortcutSheetNamesEveryShortcut) {
    const QString sheet = ShortcutSheet::asText(commandsOf(*m_window.menuBar(), CommandKind::All));
    for (const char* name : {"newStudy", "run", "stop", "exportView", "commandPalette", "showLoss"})
        EXPECT_TRUE(sheet.contains(find<QAction>(name).shortcut().toString(QKeySequence::NativeText))) << name;
}

// As `driftscope --view heatmap FILE` does.
TEST_F(MainWindowTest, TheRunsAppearWithAStudyWhicheverViewWasAskedForBefore) {
    EXPECT_FALSE(find<QDockWidget>("runsDock").isVisible());
    m_window.showView(QStringLiteral("heatmap"));
    openStudy();
    EXPECT_TRUE(find<QDockWidget>("runsDock").isVisible());
    EXPECT_TRUE(find<QDockWidget>("detailsDock").isVisible());
}

TEST_F(MainWindowTest, RunFilesAreComparedWithTheFirst) {
    open({string(runFile("thr3")), string(runFile("thr1"))}, 1);
    EXPECT_EQ(curves().view().curves[0].firstDivergence, 1);
}

TEST_F(MainWindowTest, AnotherReferenceGivesOtherCurves) {
    openStudy();
    QComboBox& reference = find<QComboBox>("reference");
    ASSERT_EQ(reference.count(), 3);
    reference.setCurrentIndex(2);
    emit reference.activated(2);
    ASSERT_TRUE(QTest::qWaitFor([&] {
        const auto& drawn = curves().view().curves;
        return drawn.size() == 2 && drawn[0].firstDivergence && drawn[1].firstDivergence;
    }));
    EXPECT_EQ(reference.currentIndex(), 2);
}

TEST_F(MainWindowTest, MetricAndLayersAreChosen) {
    openStudy();
    find<QAction>("scopeLayers").trigger();
    ASSERT_TRUE(QTest::qWaitFor([&] { return curves().view().curves.size() == 4; }))
        << "two runs × two layers";
    QComboBox& metric = find<QComboBox>("metric");
    const int ulp = metric.findText(QStringLiteral("largest ULP distance"));
    ASSERT_GE(ulp, 0);
    metric.setCurrentIndex(ulp);
    emit metric.activated(ulp);
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return curves().view().yTitle.starts_with("largest ULP distance"); }));
    find<QAction>("logAxis").trigger();
    EXPECT_TRUE(QTest::qWaitFor([&] { return !curves().view().isLogarithmic; }));
}

TEST_F(MainWindowTest, TwinsAreDrawnBesideTheirRunsAndHaveNoRowsOrNumbersOfTheirOwn) {
    const StudyFolder study =
        test::tinyStudy(m_folder / "twins", "threads = [1, 2]", "twin = \"float64\"");
    ASSERT_EQ(study.runs.size(), 4U);
    for (std::size_t i = 0; i < study.runs.size(); ++i) {
        test::TestRun run = test::tinyRun(study.runs[i], i == 1 ? 0x1p-20 : i == 3 ? 0x1p-50 : 0);
        if (study.runs[i].isTwin)
            for (TensorInfo& tensor : run.parameters)
                tensor.dtype = DType::Float64;
        test::writeRun(study.runFile(study.runs[i]), run);
    }
    open({string(m_folder / "twins")}, 2);
    const Curve twin = curves().view().curves[1];
    EXPECT_EQ(twin.name, "thr 2 · float64 twin × 2²⁹");
    EXPECT_EQ(twin.run, 1U);
    // weights 1 + 2⁻⁵⁰, 2 and 4 against 1, 2 and 4
    EXPECT_NEAR(twin.values[1] / (0x1p-21 / std::sqrt(21)), 1, 1e-9);
    EXPECT_TRUE(find<QAction>("twinCurves").isEnabled());

    RunTreeModel& tree = m_window.findChild<RunsPanel*>()->model();
    EXPECT_EQ(tree.rowCount(), 2);
    EXPECT_TRUE(find<QLabel>("runStatus").text().startsWith(QStringLiteral("2 of 2 runs")));
    m_window.findChild<RunsPanel*>()->setSelectedRun(1);
    find<QAction>("twinRuns").trigger();
    EXPECT_EQ(tree.rowCount(), 4);
    EXPECT_EQ(m_window.findChild<RunsPanel*>()->selectedRun(), 1U) << "stays selected";
    m_window.findChild<RunsPanel*>()->setSelectedRun(3);
    find<QAction>("twinRuns").trigger();
    EXPECT_EQ(tree.rowCount(), 2);
    EXPECT_EQ(m_window.findChild<RunsPanel*>()->selectedRun(), 1U) << "its run, in its place";

    find<QCheckBox>("twinCurvesBox").click();
    EXPECT_FALSE(find<QAction>("twinCurves").isChecked());
    EXPECT_TRUE(QTest::qWaitFor([&] { return curves().view().curves.size() == 1; }));
    find<QAction>("twinCurves").trigger();
    EXPECT_TRUE(find<QCheckBox>("twinCurvesBox").isChecked());
    EXPECT_TRUE(QTest::qWaitFor([&] { return curves().view().curves.size() == 2; }));
    find<QAction>("logAxis").trigger();
    EXPECT_FALSE(find<QCheckBox>("twinCurvesBox").isEnabled());
    EXPECT_TRUE(QTest::qWaitFor([&] { return curves().view().curves.size() == 1; }));
}

TEST_F(MainWindowTest, WithoutTwinsThereIsNothingToSwitch) {
    openStudy();
    EXPECT_FALSE(find<QAction>("twinCurves").isEnabled());
    EXPECT_FALSE(find<QAction>("twinRuns").isEnabled());
}

TEST_F(MainWindowTest, OneSelectionIsSharedByTheViews) {
    openStudy();
    m_window.findChild<RunsPanel*>()->setSelectedRun(2);
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return heatmap().view().title.find("thr 3") != std::string::npos; }));
    find<QAction>("layersByRuns").trigger();
    EXPECT_TRUE(QTest::qWaitFor([&] { return heatmap().view().columnTitle == "run"; }));
    find<QAction>("previousStep").trigger();
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return heatmap().view().title.find("step 1") != std::string::npos; }));
    emit heatmap().runPicked(1);
    EXPECT_EQ(m_window.findChild<RunsPanel*>()->selectedRun(), 1U);
}

TEST_F(MainWindowTest, ExportsTheViewThatIsShown) {
    openStudy();
    for (const char* name : {"view.png", "view.svg", "view.pdf", "view.csv"}) {
        m_window.exportTo(string(m_folder / name));
        ASSERT_TRUE(QTest::qWaitFor([&] { return message().endsWith(QLatin1String(name)); }))
            << name;
        EXPECT_GT(std::filesystem::file_size(m_folder / name), 20U) << name;
    }
    EXPECT_EQ(QImage(string(m_folder / "view.png")).size(), QSize(1280, 720));
    m_window.exportTo(string(m_folder / "missing" / "view.png"));
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return message().contains(QStringLiteral("cannot be written")); }));
}

TEST_F(MainWindowTest, AWrongFileIsSaidAndChangesNothing) {
    openStudy();
    m_window.openPaths({string(m_folder / "nothing")});
    EXPECT_TRUE(message().contains(QStringLiteral("no such file or folder")));
    m_window.openPaths({string(m_folder / "study" / "study.toml"), string(runFile("thr1"))});
    EXPECT_TRUE(message().contains(QStringLiteral("must all be run files")));
    std::ofstream(m_folder / "wrong.h5") << "no HDF5";
    m_window.openPaths({string(m_folder / "wrong.h5")});
    EXPECT_TRUE(QTest::qWaitFor([&] { return message().contains(QStringLiteral("wrong.h5")); }));
    EXPECT_EQ(curves().view().curves.size(), 2U);
    ASSERT_TRUE(m_window.session());
    EXPECT_EQ(m_window.session()->path(), m_folder / "study");
}

TEST_F(MainWindowTest, BadDataIsSaidAndNoFolderMade) {
    openStudy();
    const std::filesystem::path worker = m_folder / "worker.sh"; // answers as driftscope-worker --check
    std::ofstream(worker) << "#!/bin/sh\nread -r request\n"
                             "echo '{\"samples\":0,\"problem\":\"bad.npz: label -1 of sample 5\"}'\nexit 1\n";
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    std::ofstream(m_folder / "bad.npz") << "read by the worker only";
    const Study study = parseStudy("[model]\nkind = \"mlp\"\n[data]\nkind = \"npy\"\npath = \"bad.npz\"\n"
                                   "[train]\nsteps = 2\nbatch = 2\n",
                                   m_folder / "bad.toml");
    qputenv("DRIFTSCOPE_WORKER", worker.c_str());
    m_window.runStudy(study, m_folder / "new");
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return message().contains(QStringLiteral("bad.npz: label -1 of sample 5")); }))
        << message().toStdString();
    qunsetenv("DRIFTSCOPE_WORKER");
    EXPECT_FALSE(std::filesystem::exists(m_folder / "new"));
    ASSERT_TRUE(m_window.session());
    EXPECT_EQ(m_window.session()->path(), m_folder / "study");
}

TEST_F(MainWindowTest, ShowsUnderBothThemes) {
    openStudy();
    find<QAction>("themeDark").trigger();
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return curves().grab().toImage().pixelColor(2, 2).lightness() < 100; }));
    EXPECT_LT(m_window.palette().color(QPalette::Window).lightness(), 100);
    find<QAction>("themeLight").trigger();
    EXPECT_TRUE(QTest::qWaitFor(
        [&] { return curves().grab().toImage().pixelColor(2, 2) == QColor(Qt::white); }));
}

} // namespace
} // namespace driftscope
