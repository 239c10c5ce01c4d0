// SPDX-License-Identifier: GPL-3.0-or-later
#include "CurvePlot.h"

#include "DenseCurves.h"
#include "FloorTicker.h"

#include <QLocale>

#include <algorithm>
#include <cmath>
#include <utility>

namespace driftscope {
namespace {

constexpr std::size_t fewPoints = 40; ///< curves up to here show their points
constexpr double normalWidth = 2;
constexpr double denseWidth = 1;
/// From so many on, Qt's own lines take too long: level ones, as those of equal runs, the square of their points.
constexpr std::size_t densePoints = 10'000;
constexpr double strongWidth = 3.5;

/// In the colour of its run, and of no scope's style.
void setTwinDash(QPen& pen) {
    pen.setDashPattern({1, 3});
}

void placeAt(QCPItemStraightLine& line, double value, bool isVertical) {
    const auto place = [&](QCPItemPosition& position, double other) {
        position.setTypeX(isVertical ? QCPItemPosition::ptPlotCoords
                                     : QCPItemPosition::ptAxisRectRatio);
        position.setTypeY(isVertical ? QCPItemPosition::ptAxisRectRatio
                                     : QCPItemPosition::ptPlotCoords);
        position.setCoords(isVertical ? value : other, isVertical ? other : value);
    };
    place(*line.point1, 0);
    place(*line.point2, 1);
}

QCPScatterStyle::ScatterShape markerOf(std::size_t run) {
    switch (runMarker(run)) {
    case RunMarker::Circle:
        return QCPScatterStyle::ssCircle;
    case RunMarker::Square:
        return QCPScatterStyle::ssSquare;
    case RunMarker::Triangle:
        return QCPScatterStyle::ssTriangle;
    case RunMarker::Diamond:
        break;
    }
    return QCPScatterStyle::ssDiamond;
}

} // namespace

CurvePlot::CurvePlot(QWidget* parent)
    : PlotWidget(parent), m_logTicker(QSharedPointer<FloorTicker>::create()) {
    QCustomPlot& p = plot();
    QCPLayoutGrid* grid = p.plotLayout();
    grid->insertRow(0);
    grid->insertRow(0);
    title()->setLayer(QStringLiteral("axes"));
    grid->addElement(0, 0, title());
    m_legendRow = new QCPLayoutGrid;
    m_legendRow->setMargins(QMargins(16, 0, 16, 4));
    grid->addElement(1, 0, m_legendRow);
    p.axisRect()->insetLayout()->take(p.legend);
    m_legendRow->addElement(0, 0, p.legend);
    grid->setRowStretchFactor(1, 0.001);
    p.legend->setBorderPen(Qt::NoPen);
    p.legend->setBrush(Qt::NoBrush);
    p.legend->setFillOrder(QCPLegend::foColumnsFirst);
    p.legend->setColumnSpacing(18);
    p.legend->setIconSize(28, 14);
    p.legend->setIconTextPadding(10);
    // An empty legend would claim to be no wider than its margins, and the plot below it too.
    p.legend->setMaximumSize(QWIDGETSIZE_MAX / 2, QWIDGETSIZE_MAX / 2);

    p.setAutoAddPlottableToLegend(false);
    p.setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    p.axisRect()->setupFullAxesBox();
    p.axisRect()->setMinimumMargins(QMargins(16, 8, 24, 8));
    p.xAxis2->setTickLabels(false);
    p.yAxis2->setVisible(false);
    p.xAxis2->setVisible(false);
    p.xAxis->setNumberFormat(QStringLiteral("f"));
    p.xAxis->setNumberPrecision(0);
    m_dense = new DenseCurves(p);
    addFixedLines();

    const auto noteZoom = [this] { m_isZoomed = true; };
    connect(&p, &QCustomPlot::mouseWheel, this, noteZoom);
    connect(&p, &QCustomPlot::mouseMove, this, [noteZoom](const QMouseEvent* event) {
        if (event->buttons() & Qt::LeftButton)
            noteZoom();
    });
    setTheme(Theme::light());
}

CurvePlot::~CurvePlot() = default;

void CurvePlot::addFixedLines() {
    const auto line = [this](bool isVertical) {
        auto* item = new QCPItemStraightLine(&plot());
        placeAt(*item, 0, isVertical);
        item->setVisible(false);
        item->setSelectable(false);
        return item;
    };
    const auto label = [this](Qt::Alignment alignment) {
        auto* item = new QCPItemText(&plot());
        item->position->setTypeX(QCPItemPosition::ptAxisRectRatio);
        item->position->setTypeY(QCPItemPosition::ptPlotCoords);
        item->setPositionAlignment(Qt::AlignRight | alignment);
        item->setPadding(QMargins(4, 1, 4, 2));
        item->setSelectable(false);
        item->setVisible(false);
        return item;
    };
    m_floorLine = line(false);
    m_floorLabel = label(Qt::AlignBottom);
    m_floorLabel->setText(tr("bit-identical"));
    m_zeroLine = line(false);
    m_zeroLabel = label(Qt::AlignBottom);
    m_zeroLabel->setText(tr("0, though bits differ"));
    m_topLine = line(false);
    m_topLabel = label(Qt::AlignTop);
    m_topLabel->setText(tr("not finite, or not kept"));
    m_stepLine = line(true);
    m_crossVertical = line(true);
    m_crossHorizontal = line(false);
    for (auto* item : {m_crossVertical, m_crossHorizontal})
        item->setLayer(crossHairLayer());
    // Under the curves, so that a curve on the floor is seen.
    for (auto* item : {m_floorLine, m_zeroLine, m_topLine, m_stepLine})
        item->setLayer(QStringLiteral("grid"));
}

void CurvePlot::setView(CurveView view) {
    if (view.yTitle != m_view.yTitle || view.isLogarithmic != m_view.isLogarithmic)
        m_isZoomed = false;
    m_view = std::move(view);
    m_hovered.reset();

    const bool isLog = m_view.isLogarithmic;
    const double floor = m_view.floor;
    m_zero = !isLog ? 0 : m_view.largest > 0 ? std::sqrt(m_view.smallest * floor) : floor * 10;
    const double span = m_view.largest - m_view.lowest;
    m_top = !isLog               ? m_view.largest + 0.12 * (span > 0 ? span : 1)
            : m_view.largest > 0 ? m_view.largest * std::pow(m_view.largest / floor, 0.1)
                                 : floor * 100;
    QCPAxis& y = *plot().yAxis;
    y.setScaleType(isLog ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    y.setTicker(isLog ? m_logTicker.staticCast<QCPAxisTicker>()
                      : QSharedPointer<QCPAxisTicker>::create());
    y.setNumberFormat(isLog ? QStringLiteral("eb") : QStringLiteral("gb"));
    y.setNumberPrecision(isLog ? 0 : 4);
    y.setLabel(QString::fromStdString(m_view.yTitle));
    plot().xAxis->setLabel(QString::fromStdString(m_view.xTitle));
    title()->setText(QString::fromStdString(m_view.title));

    fillGraphs();
    placeFixedLines();
    styleGraphs();
    fillLegend();
    if (!m_isZoomed)
        fitRanges();
    scheduleReplot();
}

bool CurvePlot::isDense() const {
    std::size_t points = 0;
    for (const Curve& curve : m_view.curves)
        points += curve.steps.size();
    return points > densePoints;
}

double CurvePlot::plotted(const Curve& curve, std::size_t point) const {
    switch (curve.kinds[point]) {
    case PointKind::Identical:
        return m_view.isLogarithmic ? m_view.floor : 0;
    case PointKind::Zero:
        return m_zero;
    case PointKind::Nonfinite:
        return m_top;
    case PointKind::Value:
        break;
    }
    return curve.values[point];
}

void CurvePlot::fillGraphs() {
    QCustomPlot& p = plot();
    while (m_graphs.size() > m_view.curves.size()) {
        p.removeGraph(m_graphs.back());
        p.removeGraph(m_markers.back());
        m_graphs.pop_back();
        m_markers.pop_back();
    }
    while (m_graphs.size() < m_view.curves.size()) {
        m_graphs.push_back(p.addGraph());
        m_markers.push_back(p.addGraph());
        m_markers.back()->setLineStyle(QCPGraph::lsNone);
    }
    std::vector<DenseCurve> dense = m_dense->takeCurves();
    dense.resize(isDense() ? m_graphs.size() : 0);
    for (std::size_t c = 0; c < m_graphs.size(); ++c) {
        const Curve& curve = m_view.curves[c];
        std::vector<double> few;
        std::vector<double>& values = isDense() ? dense[c].values : few;
        values.resize(curve.steps.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = plotted(curve, i);

        m_graphs[c]->data()->clear();
        m_markers[c]->data()->clear();
        if (curve.firstDivergence && !curve.isTwin) {
            const auto at =
                std::ranges::lower_bound(curve.steps, static_cast<double>(*curve.firstDivergence));
            if (at != curve.steps.end())
                m_markers[c]->addData(*at,
                                      values[static_cast<std::size_t>(at - curve.steps.begin())]);
        }
        if (isDense())
            dense[c].steps = curve.steps;
        else
            m_graphs[c]->setData(QVector<double>(curve.steps.begin(), curve.steps.end()),
                                 QVector<double>(values.begin(), values.end()), true);
    }
    m_dense->setCurves(std::move(dense));
    const auto twins = std::ranges::count_if(m_view.curves, &Curve::isTwin);
    setTwinKey(twins > 0 && static_cast<std::size_t>(twins) < m_view.curves.size());
}

void CurvePlot::setTwinKey(bool isShown) {
    if (isShown == (m_twinKey != nullptr))
        return;
    if (isShown)
        m_twinKey = plot().addGraph();
    else
        plot().removeGraph(std::exchange(m_twinKey, nullptr));
}

void CurvePlot::placeFixedLines() {
    const auto has = [this](PointKind kind) {
        return std::ranges::any_of(m_view.curves, [kind](const Curve& curve) {
            return std::ranges::find(curve.kinds, kind) != curve.kinds.end();
        });
    };
    const auto place = [](QCPItemStraightLine& line, QCPItemText& label, double at, bool isShown) {
        placeAt(line, at, false);
        label.position->setCoords(1, at);
        line.setVisible(isShown);
        label.setVisible(isShown);
    };
    const bool isLog = m_view.isLogarithmic;
    const bool hasZero = isLog && has(PointKind::Zero);
    place(*m_floorLine, *m_floorLabel, isLog ? m_view.floor : 0,
          !m_view.areValues && (isLog || has(PointKind::Identical)));
    place(*m_zeroLine, *m_zeroLabel, m_zero, hasZero);
    place(*m_topLine, *m_topLabel, m_top, has(PointKind::Nonfinite));
    m_logTicker->setFloor(m_view.areValues ? 0 : hasZero ? m_zero : m_view.floor);
}

void CurvePlot::fillLegend() {
    QCPLegend& legend = *plot().legend;
    legend.clearItems();
    const auto isNamed = [this](const Curve& curve) { return !m_twinKey || !curve.isTwin; };
    const bool isShown = static_cast<std::size_t>(std::ranges::count_if(m_view.curves, isNamed)) <=
                         m_legendLimit;
    legend.setVisible(isShown);
    legend.setFont(plotFont());
    legend.setTextColor(theme().text);
    if (!isShown)
        return;
    for (std::size_t c = 0; c < m_graphs.size(); ++c) {
        if (!isNamed(m_view.curves[c]))
            continue;
        QString name = QString::fromStdString(m_view.curves[c].name);
        if (!m_view.areValues && !m_view.curves[c].firstDivergence)
            name += tr(" — bit-identical");
        m_graphs[c]->setName(name);
        m_graphs[c]->addToLegend();
    }
    if (!m_twinKey)
        return;
    const bool isScaled =
        std::ranges::any_of(m_view.curves, [](const Curve& curve) { return curve.scale != 1; });
    m_twinKey->setName(isScaled ? tr("the run's float64 twin × 2²⁹") : tr("the run's float64 twin"));
    m_twinKey->addToLegend();
}

void CurvePlot::styleGraphs() {
    const double width = isDense() ? denseWidth : normalWidth;
    for (std::size_t c = 0; c < m_graphs.size(); ++c) {
        const Curve& curve = m_view.curves[c];
        const bool isStrong =
            m_hovered ? *m_hovered == c : m_selectedRun && *m_selectedRun == curve.run;
        QColor color = theme().runColor(curve.run);
        if (m_hovered && *m_hovered != c)
            color.setAlphaF(0.35F);
        QPen pen(color, isStrong ? strongWidth : width, lineStyle(curve.style));
        pen.setJoinStyle(Qt::BevelJoin);
        if (curve.isTwin)
            setTwinDash(pen);
        m_graphs[c]->setPen(pen);
        if (isDense())
            m_dense->setPen(c, pen);
        const bool hasPoints = curve.steps.size() <= fewPoints;
        m_graphs[c]->setScatterStyle(
            hasPoints ? QCPScatterStyle(curve.isTwin ? QCPScatterStyle::ssCircle : QCPScatterStyle::ssDisc,
                                        QPen(color), curve.isTwin ? QBrush() : QBrush(color), 5)
                      : QCPScatterStyle(QCPScatterStyle::ssNone));
        m_markers[c]->setScatterStyle(
            QCPScatterStyle(markerOf(curve.run), QPen(color, 2), QBrush(theme().background), 10));
        m_graphs[c]->setAntialiasedScatters(true);
    }
    if (m_twinKey) {
        QPen pen(theme().mutedText, width);
        setTwinDash(pen);
        m_twinKey->setPen(pen);
    }
}

void CurvePlot::fitRanges() {
    double last = 0;
    double first = std::numeric_limits<double>::max();
    for (const Curve& curve : m_view.curves) {
        if (curve.steps.empty())
            continue;
        first = std::min(first, curve.steps.front());
        last = std::max(last, curve.steps.back());
    }
    first = std::min(first, last);
    const double margin = std::max(0.5, (last - first) * 0.015);
    plot().xAxis->setRange(first - margin, last + margin);

    const double highest = m_topLine->visible() ? m_top : m_view.largest;
    const double lowest = m_view.areValues ? m_view.lowest : m_view.isLogarithmic ? m_view.floor : 0;
    if (!m_view.isLogarithmic) {
        const double top = highest > lowest ? highest : lowest + std::max(1.0, std::abs(lowest));
        const double pad = 0.05 * (top - lowest);
        plot().yAxis->setRange(lowest - pad, top + pad);
        return;
    }
    const double top = highest > lowest ? highest : lowest * 100;
    const double pad = std::pow(top / lowest, 0.05);
    plot().yAxis->setRange(lowest / pad, top * pad);
}

void CurvePlot::placeStepMark() {
    m_stepLine->setVisible(markedStep().has_value());
    if (markedStep())
        placeAt(*m_stepLine, static_cast<double>(*markedStep()), true);
}

void CurvePlot::setSelectedRun(std::optional<std::size_t> run) {
    if (run == m_selectedRun)
        return;
    m_selectedRun = run;
    styleGraphs();
    scheduleReplot();
}

void CurvePlot::setLegendLimit(std::size_t curves) {
    m_legendLimit = curves;
    fillLegend();
    scheduleReplot();
}

void CurvePlot::resetZoom() {
    m_isZoomed = false;
    fitRanges();
    scheduleReplot();
}

std::optional<CurvePlot::Ranges> CurvePlot::zoom() const {
    if (!m_isZoomed)
        return std::nullopt;
    const QCPRange x = plot().xAxis->range();
    const QCPRange y = plot().yAxis->range();
    return Ranges{x.lower, x.upper, y.lower, y.upper};
}

void CurvePlot::setZoom(const Ranges& ranges) {
    m_isZoomed = true;
    plot().xAxis->setRange(ranges.left, ranges.right);
    plot().yAxis->setRange(ranges.bottom, ranges.top);
    scheduleReplot();
}

/// The point whose step is nearest to the pointer's, on the curve that is nearest to it there.
std::optional<CurvePlot::Hit> CurvePlot::nearest(QPoint point) const {
    if (!plot().axisRect()->rect().contains(point))
        return std::nullopt;
    const double step = plot().xAxis->pixelToCoord(point.x());
    std::optional<Hit> best;
    double bestDistance = std::numeric_limits<double>::max();
    for (std::size_t c = 0; c < m_view.curves.size(); ++c) {
        const std::vector<double>& steps = m_view.curves[c].steps;
        if (steps.empty())
            continue;
        auto at = std::ranges::lower_bound(steps, step);
        if (at == steps.end() || (at != steps.begin() && step - *(at - 1) < *at - step))
            --at;
        const auto i = static_cast<std::size_t>(at - steps.begin());
        const double dx = plot().xAxis->coordToPixel(*at) - point.x();
        const double dy = plot().yAxis->coordToPixel(plotted(m_view.curves[c], i)) - point.y();
        const double distance = std::hypot(dx, dy);
        if (distance < bestDistance) {
            bestDistance = distance;
            best = Hit{c, i};
        }
    }
    return best;
}

QString CurvePlot::readoutAt(QPoint point) {
    const std::optional<Hit> hit = nearest(point);
    m_crossVertical->setVisible(hit.has_value());
    m_crossHorizontal->setVisible(hit.has_value());
    setHovered(hit ? std::optional(hit->curve) : std::nullopt);
    if (!hit)
        return {};
    const Curve& curve = m_view.curves[hit->curve];
    placeAt(*m_crossVertical, curve.steps[hit->point], true);
    placeAt(*m_crossHorizontal, plotted(curve, hit->point), false);
    const QString value =
        curve.kinds[hit->point] == PointKind::Identical ? tr("bit-identical")
        : curve.kinds[hit->point] == PointKind::Nonfinite
            ? tr("not finite, or not kept")
            : QString::number(curve.values[hit->point], 'g', QLocale::FloatingPointShortest);
    return tr("<b>%1</b><br>step %2: %3")
        .arg(QString::fromStdString(curve.name).toHtmlEscaped())
        .arg(curve.steps[hit->point], 0, 'f', 0)
        .arg(value);
}

void CurvePlot::setHovered(std::optional<std::size_t> curve) {
    if (curve == m_hovered)
        return;
    m_hovered = curve;
    styleGraphs();
    scheduleReplot();
}

void CurvePlot::hideCrossHair() {
    m_crossVertical->setVisible(false);
    m_crossHorizontal->setVisible(false);
    setHovered(std::nullopt);
}

void CurvePlot::pick(QPoint point) {
    if (const std::optional<Hit> hit = nearest(point)) {
        const Curve& curve = m_view.curves[hit->curve];
        emit runPicked(static_cast<int>(curve.run));
        emit scopePicked(curve.scope);
        emit stepPicked(static_cast<qint64>(curve.steps[hit->point]));
    }
}

void CurvePlot::applyTheme() {
    const Theme& colors = theme();
    for (QCPAxis* axis : {plot().xAxis, plot().yAxis})
        styleAxis(*axis);
    m_floorLine->setPen(QPen(colors.axis, 1, Qt::DashLine));
    m_topLine->setPen(QPen(colors.nonfinite, 1, Qt::DashLine));
    m_zeroLine->setPen(QPen(colors.axis, 1, Qt::DotLine));
    m_floorLabel->setColor(colors.mutedText);
    m_zeroLabel->setColor(colors.mutedText);
    m_topLabel->setColor(colors.nonfinite);
    for (QCPItemText* label : {m_floorLabel, m_zeroLabel, m_topLabel}) {
        label->setFont(plotFont());
        label->setBrush(colors.label);
    }
    m_stepLine->setPen(QPen(colors.accent, 1));
    m_crossVertical->setPen(QPen(colors.mutedText, 1, Qt::DotLine));
    m_crossHorizontal->setPen(QPen(colors.mutedText, 1, Qt::DotLine));
    fillLegend();
    styleGraphs();
}

void CurvePlot::fitTo(QSize size) {
    QCPLegend& legend = *plot().legend;
    int widest = 1;
    for (int i = 0; i < legend.itemCount(); ++i)
        if (const QCPAbstractLegendItem* item = legend.item(i)) // the last row may have empty cells
            widest = std::max(widest, item->minimumOuterSizeHint().width());
    legend.setWrap(std::max(1, (size.width() - 48) / (widest + legend.columnSpacing())));
    legend.setFillOrder(QCPLegend::foColumnsFirst);
}

} // namespace driftscope
