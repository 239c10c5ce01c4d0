// SPDX-License-Identifier: GPL-3.0-or-later
// How well what is typed fits an entry of a list, as command palettes judge it.
#pragma once

#include <QString>

#include <optional>

namespace driftscope {

/// None unless all letters of `typed` occur in `text` in their order, whatever their case; spaces
/// don't count. The higher, the better: letters in a row and at the beginnings of words are worth
/// more, text that is passed over costs.
std::optional<int> fuzzyScore(const QString& typed, const QString& text);

} // namespace driftscope
