// SPDX-License-Identifier: GPL-3.0-or-later
#include "FloorTicker.h"

#include <cmath>

namespace driftscope {

QVector<double> FloorTicker::createTickVector(double tickStep, const QCPRange& range) {
    if (range.lower <= 0)
        return {};
    QVector<double> ticks = QCPAxisTickerLog::createTickVector(tickStep, range);
    if (range.upper / range.lower < 100) {
        ticks.clear();
        for (int power = static_cast<int>(std::floor(std::log10(range.lower)));
             std::pow(10, power) <= range.upper; ++power)
            for (const int digit : {1, 2, 5})
                ticks.append(digit * std::pow(10, power));
    }
    ticks.removeIf([&](double tick) { return tick <= m_floor * 1.0001; });
    return ticks;
}

QVector<double> FloorTicker::createSubTickVector(int subTickCount, const QVector<double>& ticks) {
    QVector<double> subTicks = QCPAxisTickerLog::createSubTickVector(subTickCount, ticks);
    subTicks.removeIf([&](double tick) { return tick <= m_floor * 1.0001; });
    return subTicks;
}

} // namespace driftscope
