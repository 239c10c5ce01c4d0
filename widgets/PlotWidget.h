// SPDX-License-Identifier: GPL-3.0-or-later
// What the plots have in common: theme, throttled drawing, a cross-hair layer with a readout,
// picking, zooming, and rendering to picture files. Its actions are its context menu.
#pragma once

#include "PlotRenderer.h"
#include "Theme.h"

#include <QTimer>
#include <QWidget>

#include <cstdint>
#include <optional>

class QCPAxis;
class QCPLayer;
class QCPTextElement;
class QCustomPlot;
class QLabel;

namespace driftscope {

class PlotWidget : public QWidget {
    Q_OBJECT

public:
    ~PlotWidget() override;

    void setTheme(const Theme& theme);

    /// Said instead of a plot that has nothing to show yet; "" shows the plot.
    void setHint(const QString& text);

    /// The plot as it would look at that size.
    QByteArray render(PictureFormat format, QSize size);

    void setMarkedStep(std::optional<std::int64_t> step);

    virtual void resetZoom() = 0;

    /// Text (rich) of what lies under a point of the plot, or "".
    [[nodiscard]] virtual QString readoutAt(QPoint point) = 0;

signals:
    void stepPicked(qint64 step);
    void runPicked(int run);

protected:
    explicit PlotWidget(QWidget* parent);

    [[nodiscard]] QCustomPlot& plot() const { return *m_plot; }
    [[nodiscard]] const Theme& theme() const { return m_theme; }
    [[nodiscard]] QCPLayer* crossHairLayer() const { return m_crossHairLayer; }
    /// Text above the plot, and title of the documents it is exported to; the plot lays it out.
    [[nodiscard]] QCPTextElement* title() const { return m_title; }
    [[nodiscard]] std::optional<std::int64_t> markedStep() const { return m_markedStep; }
    [[nodiscard]] QFont plotFont(bool isTitle = false) const;
    void styleAxis(QCPAxis& axis) const;
    void scheduleReplot();

    virtual void applyTheme() = 0;
    virtual void fitTo(QSize size) = 0; ///< arranges what depends on the size; before a replot
    virtual void pick(QPoint point) = 0;
    virtual void hideCrossHair() = 0;
    virtual void placeStepMark() = 0; ///< at markedStep(); scheduleReplot follows

    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void showReadout(QPoint point);

    QCustomPlot* m_plot;
    QCPLayer* m_crossHairLayer;
    QCPTextElement* m_title;
    QLabel* m_readout;
    QLabel* m_hint;
    QTimer m_throttle;
    Theme m_theme = Theme::light();
    std::optional<QPoint> m_pressed;
    std::optional<std::int64_t> m_markedStep;
};

} // namespace driftscope
