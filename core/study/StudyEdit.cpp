// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/StudyEdit.h"

#include "study/StudyTextMap.h"
#include "study/TomlValues.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace driftscope {
namespace {

constexpr std::string_view sectionOrder[] = {"study", "model", "data", "train", "axes", "record", "full"};

std::string replaced(std::string_view text, TextRange range, std::string_view by) {
    std::string result(text.substr(0, range.begin));
    result += by;
    result += text.substr(range.end);
    return result;
}

/// Behind the end of the line that this place is on, its newline included.
std::size_t lineEnd(std::string_view text, std::size_t place) {
    const std::size_t newline = text.find('\n', place);
    return newline == std::string_view::npos ? text.size() : newline + 1;
}

std::string withNewline(std::string_view text) {
    return std::string(text) + (text.empty() || text.ends_with('\n') ? "" : "\n");
}

/// A section of its own, before the first of those that come after it by custom.
std::string withSection(std::string_view toml, const StudyTextMap& map, std::string_view section,
                        const std::string& line) {
    const auto rank = [](std::string_view name) {
        return std::ranges::find(sectionOrder, name.substr(0, name.find('.'))) - std::begin(sectionOrder);
    };
    const auto next = std::ranges::find_if(
        map.headers, [&](const TextHeader& header) { return rank(header.name) > rank(section); });
    if (next == map.headers.end()) {
        const std::string before = withNewline(toml);
        return before + fmt::format("{}[{}]\n{}\n", before.empty() || before.ends_with("\n\n") ? "" : "\n", section, line);
    }
    // comments right above the next header belong to it
    std::size_t place = toml.rfind('\n', next->place.begin);
    place = place == std::string_view::npos ? 0 : place + 1;
    while (place > 0) {
        const std::size_t newline = place >= 2 ? toml.rfind('\n', place - 2) : std::string_view::npos;
        const std::size_t above = newline == std::string_view::npos ? 0 : newline + 1;
        const std::size_t first = toml.find_first_not_of(" \t", above);
        if (first >= place || toml[first] != '#')
            break;
        place = above;
    }
    return replaced(toml, {place, place}, fmt::format("[{}]\n{}\n\n", section, line));
}

std::string withNewKey(std::string_view toml, const StudyTextMap& map, std::string_view section, std::string_view key,
                       std::string_view value) {
    const std::string line = fmt::format("{} = {}", tomlKey(std::string(key)), value);
    const auto header = std::ranges::find(map.headers, section, &TextHeader::name);
    if (header != map.headers.end()) {
        const std::size_t next =
            std::next(header) == map.headers.end() ? toml.size() : std::next(header)->place.begin;
        std::size_t last = header->place.end;
        for (const TextEntry& entry : map.entries)
            if (entry.section == section && TextRange{last, next}.contains(entry.begin))
                last = entry.value.end;
        const std::size_t place = lineEnd(toml, last);
        const bool isOpen = place > 0 && toml[place - 1] != '\n'; // the text ends without a newline
        return replaced(toml, {place, place}, fmt::format("{}{}\n", isOpen ? "\n" : "", line));
    }
    for (const TextEntry& braces : map.braces) // train = { … }
        if (braces.section == section && braces.key.empty()) {
            const bool isEmpty = std::ranges::none_of(
                map.entries, [&](const TextEntry& entry) { return braces.value.contains(entry.begin); });
            std::size_t place = toml.find_last_not_of(" \t", braces.value.end - 2) + 1;
            return replaced(toml, {place, place}, fmt::format("{}{}", isEmpty ? " " : ", ", line));
        }
    const TextEntry* dotted = nullptr; // train.steps = …
    for (const TextEntry& entry : map.entries)
        if (entry.section == section && !entry.isInBraces)
            dotted = &entry;
    if (dotted) {
        const std::size_t place = lineEnd(toml, dotted->value.end);
        const bool isOpen = toml[place - 1] != '\n';
        return replaced(toml, {place, place}, fmt::format("{}{}.{}\n", isOpen ? "\n" : "", section, line));
    }
    return withSection(toml, map, section, line);
}

/// The entry of a setting in [axes] or [full], however its key is written.
const TextEntry* axisEntry(const StudyTextMap& map, std::string_view section, const SettingSpec& spec) {
    for (const TextEntry& entry : map.entries) {
        if (entry.section != section)
            continue;
        try {
            if (&settingNamed(entry.key) == &spec)
                return &entry;
        } catch (const StudyError&) { // a key that is wrong stays as it is
        }
    }
    return nullptr;
}

bool isArrayOfValues(const SettingSpec& spec, std::string_view toml, const TextEntry& entry) {
    if (toml[entry.value.begin] != '[')
        return false;
    const bool isList = spec.type == SettingType::IntegerList || spec.type == SettingType::RealList;
    return !isList || entry.elements.empty() || toml[entry.elements.front().begin] == '[';
}

std::string joined(const std::vector<SettingValue>& values) {
    std::vector<std::string> texts;
    for (const SettingValue& value : values)
        texts.push_back(toTomlText(value));
    return fmt::format("{}", fmt::join(texts, ", "));
}

/// Removes an element with a comma, that behind it or, of the last, that before it.
std::string withoutElement(std::string_view toml, const std::vector<TextRange>& elements, std::size_t index) {
    if (index + 1 < elements.size())
        return replaced(toml, {elements[index].begin, elements[index + 1].begin}, "");
    return replaced(toml, {index > 0 ? elements[index - 1].end : elements[index].begin, elements[index].end}, "");
}

std::string textOf(std::string_view toml, TextRange range) {
    return std::string(toml.substr(range.begin, range.end - range.begin));
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The reference's axes and values as they are written.
Pairs referencePairs(std::string_view toml, const TextEntry& reference) {
    const std::string text = "r = " + textOf(toml, reference.value);
    Pairs pairs;
    for (const TextEntry& entry : mapText(text).entries)
        pairs.emplace_back(entry.key, textOf(text, entry.value));
    return pairs;
}

/// Of a reference that is a section of its own.
std::string inReferenceSection(const SettingSpec& spec) { return "reference." + spec.axisKey(); }

std::string withPairs(std::string_view toml, const Pairs& pairs) {
    if (pairs.empty())
        return withoutKey(toml, "study", "reference");
    std::vector<std::string> texts;
    for (const auto& [key, value] : pairs)
        texts.push_back(fmt::format("{} = {}", tomlKey(key), value));
    return withKey(toml, "study", "reference", fmt::format("{{ {} }}", fmt::join(texts, ", ")));
}

std::string withoutReference(std::string_view toml, const SettingSpec& spec) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* reference = map.find("study", "reference");
    if (!reference)
        return withoutKey(toml, "study", inReferenceSection(spec));
    Pairs pairs = referencePairs(toml, *reference);
    if (std::erase_if(pairs, [&](const auto& pair) { return pair.first == spec.axisKey(); }) == 0)
        return std::string(toml);
    return withPairs(toml, pairs);
}

} // namespace

std::string withKey(std::string_view toml, std::string_view section, std::string_view key, std::string_view value) {
    const StudyTextMap map = mapText(toml);
    if (const TextEntry* entry = map.find(section, key))
        return replaced(toml, entry->value, value);
    return withNewKey(toml, map, section, key, value);
}

std::string withoutKey(std::string_view toml, std::string_view section, std::string_view key) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* entry = map.find(section, key);
    if (!entry)
        return std::string(toml);
    if (!entry->isInBraces) {
        const std::size_t newline = entry->begin == 0 ? std::string_view::npos : toml.rfind('\n', entry->begin - 1);
        return replaced(toml, {newline == std::string_view::npos ? 0 : newline + 1, lineEnd(toml, entry->value.end)}, "");
    }
    std::vector<TextRange> siblings; // of the same braces
    std::size_t index = 0;
    for (const TextEntry& other : map.entries)
        for (const TextEntry& braces : map.braces)
            if (braces.value.contains(other.begin) && braces.value.contains(entry->begin)) {
                if (&other == entry)
                    index = siblings.size();
                siblings.push_back({other.begin, other.value.end});
            }
    return withoutElement(toml, siblings, index);
}

std::string withSetting(std::string_view toml, const SettingSpec& spec, const SettingValue& value) {
    std::string text = withKey(toml, spec.section, spec.key, toTomlText(value));
    if (spec.section == "train" && spec.key == "steps")
        text = withoutKey(text, "train", "epochs");
    if (spec.section == "train" && spec.key == "epochs")
        text = withoutKey(text, "train", "steps");
    return text;
}

std::string withAxisValues(std::string_view toml, std::string_view section, const SettingSpec& spec,
                           const std::vector<SettingValue>& values) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* entry = axisEntry(map, section, spec);
    if (!entry)
        return withNewKey(toml, map, section, spec.axisKey(), fmt::format("[{}]", joined(values)));
    if (!isArrayOfValues(spec, toml, *entry))
        return replaced(toml, entry->value, fmt::format("[{}, {}]", textOf(toml, entry->value), joined(values)));
    if (entry->elements.empty())
        return replaced(toml, entry->value, fmt::format("[{}]", joined(values)));
    const std::size_t place = entry->elements.back().end;
    return replaced(toml, {place, place}, ", " + joined(values));
}

std::string withoutAxisValue(std::string_view toml, std::string_view section, const SettingSpec& spec,
                             std::size_t index) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* entry = axisEntry(map, section, spec);
    if (!entry)
        return std::string(toml);
    if (!isArrayOfValues(spec, toml, *entry) || entry->elements.size() < 2)
        return withoutAxis(toml, section, spec);
    const std::string removed = textOf(toml, entry->elements.at(index));
    const std::string text = withoutElement(toml, entry->elements, index);
    const auto isSame = [&](const std::string& a, const std::string& b) {
        const auto value = [&](const std::string& written) {
            return valueFromToml(spec, *toml::parse("v = " + written)["v"].node());
        };
        try {
            return value(a) == value(b);
        } catch (const std::exception&) { // one of them is wrong
            return a == b;
        }
    };
    if (section != "axes")
        return text;
    if (const TextEntry* own = map.find("study", inReferenceSection(spec)))
        return isSame(textOf(toml, own->value), removed) ? withoutReference(text, spec) : text;
    if (const TextEntry* reference = map.find("study", "reference"))
        for (const auto& [key, value] : referencePairs(toml, *reference))
            if (key == spec.axisKey() && isSame(value, removed))
                return withoutReference(text, spec);
    return text;
}

std::string withoutAxis(std::string_view toml, std::string_view section, const SettingSpec& spec) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* entry = axisEntry(map, section, spec);
    if (!entry)
        return std::string(toml);
    std::string text = withoutKey(toml, section, entry->key);
    if (section != "axes")
        return text;
    return withGroup(withoutReference(text, spec), spec, false);
}

std::string withReference(std::string_view toml, const SettingSpec& spec, const SettingValue& value) {
    const StudyTextMap map = mapText(toml);
    if (const TextEntry* entry = map.find("study", inReferenceSection(spec)))
        return replaced(toml, entry->value, toTomlText(value));
    if (std::ranges::find(map.headers, "study.reference", &TextHeader::name) != map.headers.end())
        return withNewKey(toml, map, "study.reference", spec.axisKey(), toTomlText(value));
    const TextEntry* entry = map.find("study", "reference");
    Pairs pairs = entry ? referencePairs(toml, *entry) : Pairs{};
    const auto pair = std::ranges::find(pairs, spec.axisKey(), [](const auto& known) { return known.first; });
    if (pair == pairs.end())
        pairs.emplace_back(spec.axisKey(), toTomlText(value));
    else
        pair->second = toTomlText(value);
    return withPairs(toml, pairs);
}

std::string withGroup(std::string_view toml, const SettingSpec& spec, bool isGroup) {
    const StudyTextMap map = mapText(toml);
    const TextEntry* entry = map.find("study", "groups");
    const std::string name = toTomlText(spec.axisKey());
    if (!entry)
        return isGroup ? withKey(toml, "study", "groups", fmt::format("[{}]", name)) : std::string(toml);
    const auto found = std::ranges::find(entry->elements, spec.axisKey(), [&](TextRange range) {
        return toml::parse("v = " + textOf(toml, range))["v"].value_or(std::string());
    });
    if ((found != entry->elements.end()) == isGroup)
        return std::string(toml);
    if (!isGroup)
        return entry->elements.size() == 1
                   ? withoutKey(toml, "study", "groups")
                   : withoutElement(toml, entry->elements, static_cast<std::size_t>(found - entry->elements.begin()));
    if (entry->elements.empty())
        return replaced(toml, entry->value, fmt::format("[{}]", name));
    const std::size_t place = entry->elements.back().end;
    return replaced(toml, {place, place}, ", " + name);
}

std::string withAbsolutePaths(std::string_view toml, const std::filesystem::path& folder) {
    const StudyTextMap map = mapText(toml);
    std::vector<TextRange> places; // of texts that are paths
    for (const TextEntry& entry : map.entries) {
        const SettingSpec* spec = findSetting(entry.section, entry.key);
        for (const std::string_view section : {"axes", "full"})
            for (const SettingSpec& setting : settingSpecs())
                if (entry.section == section && setting.isPath && axisEntry(map, section, setting) == &entry)
                    spec = &setting;
        if (!spec || !spec->isPath)
            continue;
        places.insert(places.end(), entry.elements.begin(), entry.elements.end());
        if (entry.elements.empty())
            places.push_back(entry.value);
    }
    std::string text(toml);
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        const toml::table root = toml::parse("v = " + textOf(toml, *place));
        const auto path = root["v"].value<std::string>();
        if (path && !path->empty() && *path != "system" && std::filesystem::path(*path).is_relative())
            text = replaced(text, *place, toTomlText((folder / *path).lexically_normal().string()));
    }
    return text;
}

} // namespace driftscope
