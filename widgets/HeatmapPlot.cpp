// SPDX-License-Identifier: GPL-3.0-or-later
#include "HeatmapPlot.h"

#include "FloorTicker.h"
#include "HeatmapCells.h"

#include <QFontMetrics>

#include <algorithm>
#include <cmath>

namespace driftscope {
namespace {

constexpr int labelGap = 12;         ///< pixels between labels beside each other
constexpr double slantDegrees = -35; ///< of column labels that do not fit side by side

/// 1, 2 or 5 times a power of ten.
std::int64_t niceStride(double atLeast) {
    std::int64_t power = 1;
    for (;; power *= 10)
        for (const std::int64_t digit : {1, 2, 5})
            if (static_cast<double>(digit * power) >= atLeast)
                return digit * power;
}

QString text(const std::string& string) {
    return QString::fromStdString(string);
}

int widestLabel(const std::vector<std::string>& labels, const QFontMetrics& metrics) {
    int widest = 1;
    for (const std::string& label : labels)
        widest = std::max(widest, metrics.horizontalAdvance(text(label)));
    return widest;
}

} // namespace

struct HeatmapPlot::Panel {
    QCPTextElement* title = nullptr; ///< where there are several
    QCPAxisRect* rect;
    HeatmapCells* cells;
    QCPItemRect* stepFrame;
    QCPItemRect* hoverFrame;
    QSharedPointer<QCPAxisTickerText> rowTicker = QSharedPointer<QCPAxisTickerText>::create();
    QSharedPointer<QCPAxisTickerText> columnTicker = QSharedPointer<QCPAxisTickerText>::create();
};

HeatmapPlot::HeatmapPlot(QWidget* parent) : PlotWidget(parent) {
    QCustomPlot& p = plot();
    p.plotLayout()->clear();
    p.setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    m_content = new QCPLayoutGrid;
    m_panelGrid = new QCPLayoutGrid;
    m_scale = new QCPColorScale(&p);
    m_margins = new QCPMarginGroup(&p);
    m_legend = new CellLegend(&p);
    p.plotLayout()->addElement(0, 0, title());
    p.plotLayout()->addElement(1, 0, m_content);
    p.plotLayout()->addElement(2, 0, m_legend);
    p.plotLayout()->setRowStretchFactor(2, 0.001);
    m_content->addElement(0, 0, m_panelGrid);
    m_content->addElement(0, 1, m_scale);
    m_content->setColumnStretchFactor(1, 0.001);
    m_panelGrid->setColumnSpacing(12);

    m_scale->setDataScaleType(QCPAxis::stLogarithmic);
    m_scale->setGradient(viridis());
    m_scale->setBarWidth(16);
    m_scale->setRangeDrag(false);
    m_scale->setRangeZoom(false);
    m_scale->setMinimumMargins(QMargins(8, 8, 16, 8));
    m_scale->setMarginGroup(QCP::msTop | QCP::msBottom, m_margins);
    m_scale->axis()->setTicker(QSharedPointer<FloorTicker>::create());
    m_scale->axis()->setNumberFormat(QStringLiteral("eb"));
    m_scale->axis()->setNumberPrecision(0);

    setTheme(Theme::light());
}

HeatmapPlot::~HeatmapPlot() = default;

void HeatmapPlot::setView(HeatmapView view) {
    m_view = std::move(view);
    m_columnSteps.clear();
    if (m_view.columnsAreSteps && !m_view.panels.empty())
        for (const std::string& label : m_view.panels.front().columnLabels)
            m_columnSteps.push_back(std::strtoll(label.c_str(), nullptr, 10));
    title()->setText(text(m_view.title));
    if (m_panels.size() != m_view.panels.size())
        buildPanels();
    fillScale();
    fillPanels();
    applyTheme();
    resetZoom();
}

void HeatmapPlot::buildPanels() {
    plot().clearItems();
    plot().clearPlottables();
    m_panelGrid->clear();
    m_panelGrid->simplify();
    m_panels.clear();
    const std::size_t count = m_view.panels.size();
    const std::size_t gridColumns =
        count <= 3 ? count : static_cast<std::size_t>(std::ceil(std::sqrt(count)));
    for (std::size_t i = 0; i < count; ++i)
        addPanel(i, gridColumns);
}

void HeatmapPlot::addPanel(std::size_t index, std::size_t gridColumns) {
    QCustomPlot& p = plot();
    auto panel = std::make_unique<Panel>();
    const int row = static_cast<int>(index / gridColumns);
    const int column = static_cast<int>(index % gridColumns);
    panel->rect = new QCPAxisRect(&p);
    panel->rect->setMarginGroup(QCP::msTop | QCP::msBottom, m_margins);
    panel->rect->setMinimumMargins(QMargins(column == 0 ? 16 : 4, 8, 8, 8));
    if (m_view.panels.size() > 1) {
        panel->title = new QCPTextElement(&p, QString(), plotFont());
        m_panelGrid->addElement(2 * row, column, panel->title);
        m_panelGrid->setRowStretchFactor(2 * row, 0.001);
        m_panelGrid->addElement(2 * row + 1, column, panel->rect);
    } else {
        m_panelGrid->addElement(0, 0, panel->rect);
        m_panelGrid->setRowStretchFactor(0, 1);
    }

    QCPAxis* x = panel->rect->axis(QCPAxis::atBottom);
    QCPAxis* y = panel->rect->axis(QCPAxis::atLeft);
    panel->rect->setupFullAxesBox();
    for (const auto side : {QCPAxis::atTop, QCPAxis::atRight}) {
        panel->rect->axis(side)->setTicks(false);
        panel->rect->axis(side)->setTickLabels(false);
    }
    y->setRangeReversed(true);
    x->setTicker(panel->columnTicker);
    y->setTicker(panel->rowTicker);
    for (QCPAxis* axis : {x, y}) {
        axis->grid()->setVisible(false);
        axis->setSubTicks(false);
    }
    panel->rect->setRangeDrag(Qt::Horizontal);
    panel->rect->setRangeZoom(Qt::Horizontal);
    connect(x, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
            [this, x](const QCPRange& range) {
                if (!m_view.panels.empty())
                    x->setRange(range.bounded(
                        0, static_cast<double>(m_view.panels.front().columnLabels.size())));
                scheduleReplot();
            });
    panel->cells = new HeatmapCells(x, y);
    const auto frame = [&] {
        auto* item = new QCPItemRect(&p);
        item->setClipAxisRect(panel->rect);
        item->setSelectable(false);
        item->setVisible(false);
        for (QCPItemPosition* position : {item->topLeft, item->bottomRight}) {
            position->setAxisRect(panel->rect);
            position->setAxes(x, y);
            position->setType(QCPItemPosition::ptPlotCoords);
        }
        return item;
    };
    panel->stepFrame = frame();
    panel->hoverFrame = frame();
    panel->hoverFrame->setLayer(crossHairLayer());
    m_panels.push_back(std::move(panel));
}

void HeatmapPlot::fillScale() {
    const bool hasValues = m_view.largest > 0;
    m_scale->setVisible(hasValues);
    m_scale->axis()->setLabel(text(m_view.valueTitle));
    if (!hasValues)
        return;
    // One value alone still needs a scale around it.
    const bool isPoint = m_view.largest < m_view.smallest * 1.01;
    m_scale->setDataRange(isPoint ? QCPRange(m_view.smallest / 2, m_view.largest * 2)
                                  : QCPRange(m_view.smallest, m_view.largest));
}

void HeatmapPlot::fillPanels() {
    const QCPRange range = m_scale->dataRange();
    const ColorRange colors =
        m_view.largest > 0 ? ColorRange{range.lower, range.upper} : ColorRange{};
    std::set<CellKind> kinds;
    for (std::size_t i = 0; i < m_panels.size(); ++i) {
        Panel& panel = *m_panels[i];
        const HeatmapPanel& matrix = m_view.panels[i];
        if (panel.title)
            panel.title->setText(text(matrix.title));
        panel.cells->setPanel(matrix, colors);
        const bool isFirst = i == 0;
        panel.rect->axis(QCPAxis::atBottom)->setLabel(text(m_view.columnTitle));
        panel.rect->axis(QCPAxis::atLeft)->setLabel(isFirst ? text(m_view.rowTitle) : QString());
        for (const HeatmapCell& cell : matrix.cells)
            if (cell.kind != CellKind::Value && cell.kind != CellKind::Missing)
                kinds.insert(cell.kind);
    }
    m_legend->setKinds(std::move(kinds));
    placeStepMark();
}

void HeatmapPlot::resetZoom() {
    for (const auto& panel : m_panels) {
        const HeatmapPanel& matrix = panel->cells->panel();
        panel->rect->axis(QCPAxis::atBottom)
            ->setRange(0, std::max<double>(1, matrix.columnLabels.size()));
        panel->rect->axis(QCPAxis::atLeft)
            ->setRange(0, std::max<double>(1, matrix.rowLabels.size()));
    }
    scheduleReplot();
}

void HeatmapPlot::fitTo(QSize size) {
    if (m_panels.empty())
        return;
    // QCustomPlot takes the scale's last margins for the least it needs, and the group would never
    // shrink.
    m_scale->setMargins(QMargins());
    const std::size_t gridColumns = static_cast<std::size_t>(m_panelGrid->columnCount());
    const std::size_t gridRows = (m_panels.size() + gridColumns - 1) / gridColumns;
    const QFontMetrics metrics(plotFont());
    const int rowLabels = widestLabel(m_view.panels.front().rowLabels, metrics);
    const int scale = m_scale->visible() ? 120 : 0;
    const int width = (size.width() - rowLabels - scale - 80) / static_cast<int>(gridColumns);
    const int height = size.height() / static_cast<int>(gridRows) - 120;
    for (std::size_t i = 0; i < m_panels.size(); ++i) {
        fitColumns(*m_panels[i], std::max(width, 40));
        fitRows(*m_panels[i], std::max(height, 40), i % gridColumns == 0);
    }
}

void HeatmapPlot::fitColumns(Panel& panel, int pixels) {
    const std::vector<std::string>& labels = panel.cells->panel().columnLabels;
    panel.columnTicker->clear();
    if (labels.empty())
        return;
    const QFontMetrics metrics(plotFont());
    QCPAxis& axis = *panel.rect->axis(QCPAxis::atBottom);
    const int needed = widestLabel(labels, metrics) + labelGap;
    if (m_view.columnsAreSteps) {
        axis.setTickLabelRotation(0);
        const QCPRange visible = axis.range();
        const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(visible.lower)));
        const auto last = std::min(labels.size() - 1, static_cast<std::size_t>(visible.upper));
        if (static_cast<int>(last - first + 1) * needed <= pixels) { // all fit, however unevenly they are spaced
            for (std::size_t c = first; c <= last; ++c)
                panel.columnTicker->addTick(static_cast<double>(c) + 0.5, text(labels[c]));
            return;
        }
        const double steps = static_cast<double>(m_columnSteps[last] - m_columnSteps[first]);
        const std::int64_t stride = niceStride(std::max(1.0, steps * needed * 1.6 / pixels));
        std::int64_t next = m_columnSteps[first];
        for (std::size_t c = first; c <= last; ++c) {
            if (m_columnSteps[c] < next || (m_columnSteps[c] != 0 && m_columnSteps[c] < stride))
                continue;
            panel.columnTicker->addTick(static_cast<double>(c) + 0.5, text(labels[c]));
            next = (m_columnSteps[c] / stride + 1) * stride;
        }
        return;
    }
    const bool areSlanted = needed * static_cast<int>(labels.size()) > pixels;
    axis.setTickLabelRotation(areSlanted ? slantDegrees : 0);
    const double slantedWidth = metrics.height() * 1.7;
    const auto stride = static_cast<std::size_t>(
        areSlanted ? std::ceil(slantedWidth * static_cast<double>(labels.size()) / pixels) : 1);
    for (std::size_t c = 0; c < labels.size(); c += stride)
        panel.columnTicker->addTick(static_cast<double>(c) + 0.5, text(labels[c]));
}

void HeatmapPlot::fitRows(Panel& panel, int pixels, bool hasLabels) {
    const std::vector<std::string>& labels = panel.cells->panel().rowLabels;
    panel.rowTicker->clear();
    panel.rect->axis(QCPAxis::atLeft)->setTickLabels(hasLabels);
    const int needed = QFontMetrics(plotFont()).height();
    const auto stride = std::max<std::size_t>(1, (labels.size() * static_cast<std::size_t>(needed) +
                                                  static_cast<std::size_t>(pixels) - 1) /
                                                     static_cast<std::size_t>(pixels));
    for (std::size_t r = 0; r < labels.size(); r += stride)
        panel.rowTicker->addTick(static_cast<double>(r) + 0.5, text(labels[r]));
}

/// Frames the column of the last step up to it, where columns are steps.
void HeatmapPlot::placeStepMark() {
    auto column = m_columnSteps.begin();
    if (markedStep())
        column = std::ranges::upper_bound(m_columnSteps, *markedStep());
    const bool isShown = column != m_columnSteps.begin();
    const auto end = static_cast<double>(column - m_columnSteps.begin());
    for (const auto& panel : m_panels) {
        panel->stepFrame->setVisible(isShown);
        panel->stepFrame->topLeft->setCoords(end - 1, 0);
        panel->stepFrame->bottomRight->setCoords(
            end, static_cast<double>(panel->cells->panel().rowLabels.size()));
    }
}

std::optional<HeatmapPlot::Hit> HeatmapPlot::hitAt(QPoint point) const {
    for (std::size_t i = 0; i < m_panels.size(); ++i) {
        if (!m_panels[i]->rect->rect().contains(point))
            continue;
        const HeatmapPanel& matrix = m_panels[i]->cells->panel();
        const double x = m_panels[i]->rect->axis(QCPAxis::atBottom)->pixelToCoord(point.x());
        const double y = m_panels[i]->rect->axis(QCPAxis::atLeft)->pixelToCoord(point.y());
        if (x >= 0 && y >= 0 && x < static_cast<double>(matrix.columnLabels.size()) &&
            y < static_cast<double>(matrix.rowLabels.size()))
            return Hit{i, static_cast<std::size_t>(y), static_cast<std::size_t>(x)};
    }
    return std::nullopt;
}

QString HeatmapPlot::readoutAt(QPoint point) {
    const std::optional<Hit> hit = hitAt(point);
    hideCrossHair();
    if (!hit)
        return {};
    const Panel& panel = *m_panels[hit->panel];
    panel.hoverFrame->topLeft->setCoords(static_cast<double>(hit->column),
                                         static_cast<double>(hit->row));
    panel.hoverFrame->bottomRight->setCoords(static_cast<double>(hit->column + 1),
                                             static_cast<double>(hit->row + 1));
    panel.hoverFrame->setVisible(true);
    const HeatmapPanel& matrix = panel.cells->panel();
    QString detail = text(matrix.cells[hit->row * matrix.columnLabels.size() + hit->column].detail);
    return detail.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
}

QPoint HeatmapPlot::centerOf(std::size_t panel, std::size_t row, std::size_t column) const {
    const QCPAxisRect& rect = *m_panels.at(panel)->rect;
    return QPointF(rect.axis(QCPAxis::atBottom)->coordToPixel(static_cast<double>(column) + 0.5),
                   rect.axis(QCPAxis::atLeft)->coordToPixel(static_cast<double>(row) + 0.5))
        .toPoint();
}

void HeatmapPlot::pick(QPoint point) {
    const std::optional<Hit> hit = hitAt(point);
    if (!hit)
        return;
    const HeatmapPanel& panel = m_view.panels[hit->panel];
    if (const auto run = panel.cells[hit->row * panel.columnLabels.size() + hit->column].run)
        emit runPicked(static_cast<int>(*run));
    emit rowPicked(static_cast<int>(hit->row));
    if (!m_columnSteps.empty())
        emit stepPicked(m_columnSteps[hit->column]);
}

void HeatmapPlot::hideCrossHair() {
    for (const auto& panel : m_panels)
        panel->hoverFrame->setVisible(false);
}

void HeatmapPlot::applyTheme() {
    const Theme& colors = theme();
    styleAxis(*m_scale->axis());
    m_legend->setStyle(colors, plotFont());
    for (const auto& panel : m_panels) {
        if (panel->title) {
            panel->title->setTextColor(colors.text);
            panel->title->setFont(plotFont());
        }
        panel->cells->setTheme(colors);
        panel->stepFrame->setPen(QPen(colors.accent, 2));
        panel->hoverFrame->setPen(QPen(colors.accent, 2));
        for (const auto side :
             {QCPAxis::atBottom, QCPAxis::atLeft, QCPAxis::atTop, QCPAxis::atRight})
            styleAxis(*panel->rect->axis(side));
    }
}

} // namespace driftscope
