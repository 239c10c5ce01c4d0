// SPDX-License-Identifier: GPL-3.0-or-later
// Where the keys of a study's text stand; private to core.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// In bytes; the end is behind it.
struct TextRange {
    std::size_t begin = 0, end = 0;
    [[nodiscard]] bool contains(std::size_t place) const { return begin <= place && place < end; }
};

struct TextEntry {
    std::string section;             ///< "" at the top
    std::string key;                 ///< nested ones joined by dots: "data.limit"
    TextRange value;
    std::size_t begin = 0;           ///< of its key, with what stands before its last dot
    bool isInBraces = false;         ///< of an inline table
    std::vector<TextRange> elements; ///< of an array
};

struct TextHeader {
    std::string name; ///< "train", also "axes.data"
    TextRange place;  ///< from [ to ]
};

struct StudyTextMap {
    std::vector<TextEntry> entries;  ///< by their place in the text
    std::vector<TextHeader> headers; ///< too
    std::vector<TextEntry> braces;   ///< inline tables: their key's section and name, and their place

    [[nodiscard]] const TextEntry* find(std::string_view section, std::string_view key) const;
};

/// Throws StudyTextError where the text is no TOML.
StudyTextMap mapText(std::string_view toml);

} // namespace driftscope
