// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/StudyTextMap.h"

#include "study/TomlValues.h"

#include <algorithm>

namespace driftscope {
namespace {

/// Byte positions of the lines and columns, which count characters, that toml++ gives.
class Places {
public:
    explicit Places(std::string_view text) : m_text(text) {
        for (std::size_t i = 0; i < text.size(); ++i)
            if (text[i] == '\n')
                m_lines.push_back(i + 1);
    }

    [[nodiscard]] std::size_t operator()(const toml::source_position& position) const {
        const std::size_t line = std::clamp<std::size_t>(position.line, 1, m_lines.size()) - 1;
        std::size_t place = m_lines[line];
        for (std::size_t column = 1; column < position.column && place < m_text.size(); ++column)
            do
                ++place;
            while (place < m_text.size() && (static_cast<unsigned char>(m_text[place]) & 0xC0) == 0x80);
        return place;
    }
    [[nodiscard]] TextRange operator()(const toml::source_region& region) const {
        return {(*this)(region.begin), (*this)(region.end)};
    }

private:
    std::string_view m_text;
    std::vector<std::size_t> m_lines{0};
};

class Mapper {
public:
    explicit Mapper(std::string_view text) : m_text(text), m_place(text) {}

    StudyTextMap map(const toml::table& root) {
        for (const auto& [key, node] : root) {
            if (const toml::table* table = node.as_table())
                walk(*table, std::string(key.str()), "", hasBraces(*table));
            else
                add("", std::string(key.str()), key, node, false);
        }
        std::ranges::sort(m_map.entries, {}, &TextEntry::begin);
        std::ranges::sort(m_map.headers, {}, [](const TextHeader& header) { return header.place.begin; });
        return std::move(m_map);
    }

private:
    [[nodiscard]] bool hasBraces(const toml::table& table) const {
        return table.is_inline() && m_text.substr(m_place(table.source().begin)).starts_with('{');
    }

    void walk(const toml::table& table, const std::string& section, const std::string& prefix, bool isInBraces) {
        const std::string name = prefix.empty() ? section : section + '.' + prefix.substr(0, prefix.size() - 1);
        const TextRange place = m_place(table.source());
        if (hasBraces(table))
            m_map.braces.push_back({.section = section, .key = prefix.substr(0, prefix.size() - !prefix.empty()),
                                    .value = place, .begin = place.begin, .isInBraces = true, .elements = {}});
        else if (m_text.substr(place.begin).starts_with('['))
            m_map.headers.push_back({name, place});
        for (const auto& [key, node] : table) {
            const std::string nested = prefix + std::string(key.str());
            if (const toml::table* inner = node.as_table()) {
                const bool isInner = isInBraces || hasBraces(*inner);
                if (isInner && section == "study") // a value of its own, the reference
                    add(section, nested, key, node, isInBraces);
                else
                    walk(*inner, section, nested + '.', isInner);
            } else {
                add(section, nested, key, node, isInBraces);
            }
        }
    }

    void add(const std::string& section, const std::string& key, const toml::key& name, const toml::node& node,
             bool isInBraces) {
        TextEntry entry{.section = section, .key = key, .value = m_place(node.source()),
                        .begin = m_place(name.source().begin), .isInBraces = isInBraces, .elements = {}};
        if (!isInBraces) { // what stands before the last dot of the key
            const std::size_t newline = m_text.rfind('\n', entry.begin == 0 ? 0 : entry.begin - 1);
            const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
            entry.begin = std::min(entry.begin, std::min(m_text.find_first_not_of(" \t", line), m_text.size()));
        }
        if (const toml::array* array = node.as_array())
            for (const toml::node& element : *array)
                entry.elements.push_back(m_place(element.source()));
        m_map.entries.push_back(std::move(entry));
    }

    std::string_view m_text;
    Places m_place;
    StudyTextMap m_map;
};

} // namespace

const TextEntry* StudyTextMap::find(std::string_view section, std::string_view key) const {
    const auto found = std::ranges::find_if(
        entries, [&](const TextEntry& entry) { return entry.section == section && entry.key == key; });
    return found == entries.end() ? nullptr : &*found;
}

StudyTextMap mapText(std::string_view toml) {
    try {
        const toml::table root = toml::parse(toml);
        return Mapper(toml).map(root);
    } catch (const toml::parse_error& error) {
        throw StudyTextError("study", static_cast<int>(error.source().begin.line),
                             static_cast<int>(error.source().begin.column), std::string(error.description()));
    }
}

} // namespace driftscope
