// SPDX-License-Identifier: GPL-3.0-or-later
// Ticks of a logarithmic axis: powers of ten, with 2 and 5 between them where there are few, and
// none at or below the line that stands for zero. Include in .cpp files only.
#pragma once

#include <qcustomplot.h>

namespace driftscope {

class FloorTicker : public QCPAxisTickerLog {
public:
    void setFloor(double floor) { m_floor = floor; }

protected:
    QVector<double> createTickVector(double tickStep, const QCPRange& range) override;
    QVector<double> createSubTickVector(int subTickCount, const QVector<double>& ticks) override;

private:
    double m_floor = 0;
};

} // namespace driftscope
