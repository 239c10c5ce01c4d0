// SPDX-License-Identifier: GPL-3.0-or-later
#include "PlotWidget.h"

#include <QApplication>
#include <QLabel>
#include <QMouseEvent>
#include <QStackedLayout>

#include <qcustomplot.h>

#include <algorithm>

namespace driftscope {
namespace {

constexpr int frameMs = 33;
constexpr int textPixels = 13;

} // namespace

PlotWidget::PlotWidget(QWidget* parent)
    : QWidget(parent), m_plot(new QCustomPlot(this)), m_readout(new QLabel(m_plot)),
      m_hint(new QLabel(this)) {
    m_plot->addLayer(QStringLiteral("crosshair"), m_plot->layer(QStringLiteral("overlay")),
                     QCustomPlot::limBelow);
    m_crossHairLayer = m_plot->layer(QStringLiteral("crosshair"));
    m_crossHairLayer->setMode(QCPLayer::lmBuffered);
    m_title = new QCPTextElement(m_plot);
    m_plot->setNoAntialiasingOnDrag(true);
    m_plot->setMouseTracking(true);
    m_plot->setFocusPolicy(Qt::StrongFocus);
    m_plot->installEventFilter(this);

    m_readout->setObjectName(QStringLiteral("readout"));
    m_readout->setTextFormat(Qt::RichText);
    m_readout->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_readout->setMargin(6);
    m_readout->setAutoFillBackground(true);
    m_readout->setFrameShape(QFrame::Box);
    m_readout->hide();

    m_hint->setObjectName(QStringLiteral("hint"));
    m_hint->setAlignment(Qt::AlignCenter);
    m_hint->setWordWrap(true);
    m_hint->setAutoFillBackground(true);
    m_hint->setMargin(48);

    auto* layout = new QStackedLayout(this);
    layout->addWidget(m_plot);
    layout->addWidget(m_hint);

    m_throttle.setSingleShot(true);
    m_throttle.setInterval(frameMs);
    connect(&m_throttle, &QTimer::timeout, this, [this] {
        fitTo(m_plot->size());
        m_plot->replot(QCustomPlot::rpQueuedReplot);
    });
    setContextMenuPolicy(Qt::ActionsContextMenu);
}

PlotWidget::~PlotWidget() = default;

void PlotWidget::setTheme(const Theme& theme) {
    m_theme = theme;
    m_plot->setBackground(theme.background);
    QPalette palette = paletteOf(theme);
    palette.setColor(QPalette::Window, theme.background);
    m_hint->setPalette(palette);
    palette.setColor(QPalette::Window, theme.label);
    palette.setColor(QPalette::WindowText, theme.text);
    m_readout->setPalette(palette);
    m_title->setTextColor(theme.text);
    m_title->setFont(plotFont(true));
    applyTheme();
    scheduleReplot();
}

void PlotWidget::setMarkedStep(std::optional<std::int64_t> step) {
    if (step == m_markedStep)
        return;
    m_markedStep = step;
    placeStepMark();
    scheduleReplot();
}

void PlotWidget::setHint(const QString& text) {
    m_hint->setText(text);
    static_cast<QStackedLayout*>(layout())->setCurrentWidget(
        text.isEmpty() ? static_cast<QWidget*>(m_plot) : m_hint);
}

QByteArray PlotWidget::render(PictureFormat format, QSize size) {
    fitTo(size);
    QByteArray bytes = renderPlot(*m_plot, format, size, m_title->text());
    fitTo(m_plot->size());
    return bytes;
}

QFont PlotWidget::plotFont(bool isTitle) const {
    QFont font = QApplication::font();
    font.setPixelSize(isTitle ? textPixels + 2 : textPixels);
    font.setBold(isTitle);
    return font;
}

void PlotWidget::styleAxis(QCPAxis& axis) const {
    const QPen line(m_theme.axis);
    axis.setBasePen(line);
    axis.setTickPen(line);
    axis.setSubTickPen(line);
    axis.setLabelColor(m_theme.text);
    axis.setTickLabelColor(m_theme.text);
    axis.setLabelFont(plotFont());
    axis.setTickLabelFont(plotFont());
    axis.setTickLength(0, 5);
    axis.setSubTickLength(0, 3);
    axis.grid()->setPen(QPen(m_theme.grid));
    axis.grid()->setZeroLinePen(QPen(m_theme.grid));
}

void PlotWidget::scheduleReplot() {
    if (!m_throttle.isActive())
        m_throttle.start();
}

bool PlotWidget::eventFilter(QObject* watched, QEvent* event) {
    switch (event->type()) {
    case QEvent::Resize:
        scheduleReplot();
        break;
    case QEvent::Leave:
        m_readout->hide();
        hideCrossHair();
        m_crossHairLayer->replot();
        break;
    case QEvent::MouseMove:
        showReadout(static_cast<QMouseEvent*>(event)->pos());
        break;
    case QEvent::MouseButtonPress: {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        m_pressed = mouse->button() == Qt::LeftButton ? std::optional(mouse->pos()) : std::nullopt;
        break;
    }
    case QEvent::MouseButtonRelease: {
        const QPoint point = static_cast<QMouseEvent*>(event)->pos();
        if (m_pressed && (point - *m_pressed).manhattanLength() < QApplication::startDragDistance())
            pick(point);
        m_pressed.reset();
        break;
    }
    case QEvent::MouseButtonDblClick:
        resetZoom();
        break;
    default:
        break;
    }
    return QWidget::eventFilter(watched, event);
}

void PlotWidget::showReadout(QPoint point) {
    const QString text = readoutAt(point);
    m_crossHairLayer->replot();
    m_readout->setVisible(!text.isEmpty());
    if (text.isEmpty())
        return;
    m_readout->setText(text);
    m_readout->adjustSize();
    // Beside the pointer, on the side where there is room.
    const int gap = 16;
    QPoint corner = point + QPoint(gap, gap);
    if (corner.x() + m_readout->width() > m_plot->width())
        corner.setX(std::max(0, point.x() - gap - m_readout->width()));
    if (corner.y() + m_readout->height() > m_plot->height())
        corner.setY(std::max(0, point.y() - gap - m_readout->height()));
    m_readout->move(corner);
}

} // namespace driftscope
