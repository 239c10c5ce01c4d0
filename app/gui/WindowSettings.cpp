// SPDX-License-Identifier: GPL-3.0-or-later
#include "WindowSettings.h"

#include <QFileInfo>
#include <QSettings>

#include <algorithm>

namespace driftscope {
namespace {

constexpr qsizetype mostRecent = 5;

const QString recentKey = QStringLiteral("recent");
const QString geometryKey = QStringLiteral("geometry");
const QString stateKey = QStringLiteral("state");
const QString viewsKey = QStringLiteral("views");
const QString themeKey = QStringLiteral("theme");

} // namespace

WindowSettings WindowSettings::load() {
    const QSettings stored;
    WindowSettings settings;
    settings.recent = stored.value(recentKey).toStringList();
    settings.geometry = stored.value(geometryKey).toByteArray();
    settings.state = stored.value(stateKey).toByteArray();
    settings.views = stored.value(viewsKey).toByteArray();
    settings.theme = static_cast<ThemeChoice>(std::clamp(stored.value(themeKey).toInt(), 0, 2));
    return settings;
}

void WindowSettings::save() const {
    QSettings stored;
    stored.setValue(recentKey, recent);
    stored.setValue(geometryKey, geometry);
    stored.setValue(stateKey, state);
    stored.setValue(viewsKey, views);
    stored.setValue(themeKey, static_cast<int>(theme));
}

void WindowSettings::addRecent(const QString& path) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    recent.removeAll(absolute);
    recent.prepend(absolute);
    recent = recent.first(std::min(mostRecent, recent.size()));
}

} // namespace driftscope
