// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers between starts: recent studies, geometry, theme.
#pragma once

#include <QByteArray>
#include <QStringList>

namespace driftscope {

struct WindowSettings {
    enum class ThemeChoice { System, Light, Dark };

    QStringList recent; ///< newest first
    QByteArray geometry;
    QByteArray state;
    QByteArray views; ///< how they lie
    ThemeChoice theme = ThemeChoice::System;

    static WindowSettings load();
    void save() const;

    void addRecent(const QString& path);
};

} // namespace driftscope
