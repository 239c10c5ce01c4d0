// SPDX-License-Identifier: GPL-3.0-or-later
// Time that a plot of 200 curves × 10 000 steps takes to be drawn: as it stands, while it is
// dragged, and after new data. The target is 16 ms a frame.
#include "CurvePlot.h"

#include <QApplication>

#include <benchmark/benchmark.h>
#include <qcustomplot.h>

#include <cmath>
#include <random>
#include <string>

namespace {

using namespace driftscope;

constexpr std::size_t curves = 200;
constexpr std::size_t steps = 10'000;

/// Rounding that grows; `noise` is the scatter from step to step, in decades.
CurveView makeView(double noise) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    CurveView view;
    view.smallest = 1e-9;
    view.largest = 1;
    view.floor = 1e-10;
    for (std::size_t c = 0; c < curves; ++c) {
        Curve curve;
        curve.run = c;
        const double rate = 4 + normal(random);
        for (std::size_t step = 0; step < steps; ++step) {
            const double growth = rate * std::sqrt(static_cast<double>(step) / steps);
            curve.steps.push_back(static_cast<double>(step));
            curve.kinds.push_back(step < 20 ? PointKind::Identical : PointKind::Value);
            curve.values.push_back(step < 20 ? 0
                                             : std::pow(10, -8 + growth + noise * normal(random)));
        }
        curve.firstDivergence = 20;
        view.curves.push_back(std::move(curve));
    }
    return view;
}

struct Shown {
    explicit Shown(double noise) : view(makeView(noise)) {
        plot.resize(1200, 700);
        plot.setView(view);
        plot.show();
        QCoreApplication::processEvents();
        custom().replot();
    }
    QCustomPlot& custom() { return *plot.findChild<QCustomPlot*>(); }

    CurveView view;
    CurvePlot plot;
};

void standing(benchmark::State& state, double noise) {
    Shown shown(noise);
    for ([[maybe_unused]] auto _ : state)
        shown.custom().replot();
}

void dragged(benchmark::State& state, double noise) {
    Shown shown(noise);
    double by = 10;
    for ([[maybe_unused]] auto _ : state) {
        shown.custom().xAxis->moveRange(by);
        shown.custom().replot();
        by = -by;
    }
}

void newData(benchmark::State& state, double noise) {
    Shown shown(noise);
    for ([[maybe_unused]] auto _ : state) {
        state.PauseTiming();
        CurveView view = shown.view;
        state.ResumeTiming();
        shown.plot.setView(std::move(view));
        shown.custom().replot();
    }
}

void add(const std::string& data, const std::string& name,
         void (*function)(benchmark::State&, double), double noise) {
    benchmark::RegisterBenchmark(("replot/" + data + "/" + name).c_str(), function, noise)
        ->Unit(benchmark::kMillisecond);
}

} // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    const QApplication application(argc, argv);
    for (const auto& [data, noise] : {std::pair("smooth", 0.002), std::pair("noisy", 0.3)}) {
        add(data, "standing", standing, noise);
        add(data, "dragged", dragged, noise);
        add(data, "new_data", newData, noise);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
