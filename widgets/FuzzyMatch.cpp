// SPDX-License-Identifier: GPL-3.0-or-later
#include "FuzzyMatch.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace driftscope {
namespace {

constexpr int matched = 4;
constexpr int inARow = 11; ///< more than atWord: a whole word goes before initials
constexpr int atWord = 10;
constexpr int atBeginning = 6;
constexpr int none = std::numeric_limits<int>::min() / 2;

bool beginsWord(const QString& text, qsizetype at) {
    return at == 0 || !text[at - 1].isLetterOrNumber() ||
           (text[at].isUpper() && text[at - 1].isLower());
}

} // namespace

std::optional<int> fuzzyScore(const QString& typed, const QString& text) {
    QString letters = typed.toLower();
    letters.removeIf([](QChar letter) { return letter.isSpace(); });
    if (letters.isEmpty())
        return 0;
    if (text.isEmpty())
        return std::nullopt;
    const QString lower = text.toLower();
    if (lower.size() != text.size()) // a few capitals have small forms of two letters
        return lower.contains(letters) ? std::optional(matched) : std::nullopt;
    // best[i]: all letters up to this one placed, it at i
    const auto size = static_cast<std::size_t>(text.size());
    std::vector<int> best(size, none);
    for (qsizetype letter = 0; letter < letters.size(); ++letter) {
        std::vector<int> next(size, none);
        int before = letter == 0 ? 0 : none; // the best that ends anywhere before i - 1
        for (std::size_t i = 0; i < size; ++i) {
            const auto at = static_cast<qsizetype>(i);
            const int adjacent = letter > 0 && i > 0 ? best[i - 1] : none;
            if (lower[at] == letters[letter]) {
                const int base = std::max(before, adjacent == none ? none : adjacent + inARow);
                if (base > none)
                    next[i] = base + matched + (beginsWord(text, at) ? atWord : 0) +
                              (at == 0 ? atBeginning : 0);
            }
            before = std::max(before, adjacent);
        }
        best = std::move(next);
    }
    const int score = *std::ranges::max_element(best);
    if (score <= none)
        return std::nullopt;
    return score - static_cast<int>(text.size()) / 8;
}

} // namespace driftscope
