// SPDX-License-Identifier: GPL-3.0-or-later
// The window answers within 100 ms, whatever it shows and loads. Measured in processor time of its
// thread, so that a busy machine does not fail the test.
#include "CurvePlot.h"
#include "MainWindow.h"

#include "support/TemporaryFolder.h"
#include "support/TinyStudy.h"

#include <QAction>
#include <QComboBox>
#include <QSlider>
#include <QTest>
#include <QTimer>

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

namespace driftscope {
namespace {

double threadMilliseconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

/// Beats from the event loop, and keeps the most that this thread has worked between two beats.
class Heartbeat {
public:
    Heartbeat() {
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer, [this] {
            const double now = threadMilliseconds();
            m_longest = std::max(m_longest, now - m_last);
            m_last = now;
        });
        m_timer.start(1);
    }
    /// Milliseconds since it was asked last.
    double takeLongest() {
        QTest::qWait(5);
        return std::exchange(m_longest, 0);
    }

private:
    QTimer m_timer;
    double m_last = threadMilliseconds();
    double m_longest = 0;
};

/// 24 runs of 1500 steps and 12 tensors, each farther from the reference than the one before.
StudyFolder largeStudy(const std::filesystem::path& path) {
    StudyFolder study = test::tinyStudy(path, "seed = [1, 2, 3, 4, 5, 6]\nthreads = [1, 2, 3, 4]");
    double scale = 0;
    for (const RunConfig& config : study.runs) {
        test::TestRun run{config, {}, {}};
        for (int layer = 0; layer < 6; ++layer)
            for (const char* kind : {"weight", "bias"})
                run.parameters.push_back(
                    {"layer" + std::to_string(layer) + "." + kind, DType::Float32, {8}});
        for (std::int64_t step = 0; step < 1500; ++step) {
            const double value = 1 + scale * std::sqrt(static_cast<double>(step));
            run.rows.push_back({step, std::vector(12, std::vector<double>(8, value)), {}, 0.5});
        }
        scale += 1e-6;
        test::writeRun(study.runFile(config), run);
    }
    return study;
}

TEST(Latency, TheWindowAnswersWithin100Milliseconds) {
    constexpr double limit = 100;
    const test::TemporaryFolder folder;
    largeStudy(folder / "large");
    MainWindow window;
    window.show();
    QTest::qWait(50);
    Heartbeat heartbeat;
    heartbeat.takeLongest();

    window.openPaths({QString::fromStdString((folder / "large").string())});
    const auto* curves = window.findChild<CurvePlot*>(QStringLiteral("curvePlot"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return curves->view().curves.size() == 23; }, 60'000));
    EXPECT_LT(heartbeat.takeLongest(), limit) << "opening a study";

    auto* slider = window.findChild<QSlider*>(QStringLiteral("stepSlider"));
    auto* metric = window.findChild<QComboBox*>(QStringLiteral("metric"));
    for (QAction* action : window.findChildren<QAction*>()) {
        const QString name = action->objectName();
        if (!name.startsWith(QLatin1String("show")) || name == QLatin1String("showStart") ||
            !action->isEnabled() || action->isCheckable())
            continue;
        action->trigger();
        QTest::qWait(200);
        EXPECT_LT(heartbeat.takeLongest(), limit) << "showing " << name.toStdString();
        for (const int step : {0, 700, 1499}) {
            slider->setValue(step);
            QTest::qWait(50);
        }
        EXPECT_LT(heartbeat.takeLongest(), limit) << "steps in " << name.toStdString();
        metric->setCurrentIndex((metric->currentIndex() + 1) % metric->count());
        emit metric->activated(metric->currentIndex());
        QTest::qWait(100);
        EXPECT_LT(heartbeat.takeLongest(), limit) << "another metric in " << name.toStdString();
    }
    for (const char* scope : {"scopeTensors", "scopeLayers", "scopeModel"}) {
        window.findChild<QAction*>(QLatin1String(scope))->trigger();
        QTest::qWait(300);
        EXPECT_LT(heartbeat.takeLongest(), limit) << scope;
    }
}

} // namespace
} // namespace driftscope
