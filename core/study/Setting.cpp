// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/Setting.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

namespace driftscope {

std::string SettingSpec::axisKey() const {
    const SettingSpec* bare = nullptr;
    for (const std::string_view owner : {"train", "data", "model", "record"})
        if (!bare)
            bare = findSetting(owner, key);
    return bare == this ? std::string(key) : fmt::format("{}.{}", section, key);
}

const SettingSpec* findSetting(std::string_view section, std::string_view key) {
    for (const SettingSpec& spec : settingSpecs())
        if (spec.section == section && spec.key == key)
            return &spec;
    return nullptr;
}

const SettingSpec& settingNamed(std::string_view name) {
    std::vector<std::string> names;
    for (const SettingSpec& spec : settingSpecs()) {
        const std::string axisKey = spec.axisKey();
        if (name == axisKey || name == fmt::format("{}.{}", spec.section, spec.key))
            return spec;
        if (spec.canBeAxis)
            names.push_back(axisKey);
    }
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    throw StudyError(
        fmt::format("unknown axis \"{}\"{}; axes: {}", name, didYouMean(name, candidates), fmt::join(names, ", ")));
}

const SettingSpec& settingOfAxis(std::string_view name) {
    const SettingSpec& spec = settingNamed(name);
    if (!spec.canBeAxis)
        throw StudyError(fmt::format("{} cannot be an axis", spec.axisKey()));
    return spec;
}

namespace {

std::string range(const SettingSpec& spec) {
    if (spec.minimum && spec.maximum)
        return fmt::format("{} … {}", *spec.minimum, *spec.maximum);
    if (spec.minimum)
        return fmt::format("{} {}", spec.minimumIsAllowed ? "≥" : ">", *spec.minimum);
    return "any";
}

void checkNumber(const SettingSpec& spec, double number) {
    const bool tooSmall =
        spec.minimum && (spec.minimumIsAllowed ? number < *spec.minimum : number <= *spec.minimum);
    const bool tooLarge = spec.maximum && number > *spec.maximum;
    if (!std::isfinite(number))
        throw StudyError(fmt::format("{} = {}: allowed is a finite number{}", spec.key, number,
                                     spec.minimum || spec.maximum ? ", " + range(spec) : ""));
    if (tooSmall || tooLarge)
        throw StudyError(fmt::format("{} = {}: allowed is {}", spec.key, number, range(spec)));
}

[[noreturn]] void wrongType(const SettingSpec& spec, std::string_view given) {
    static constexpr std::string_view names[] = {"true or false", "an integer", "a number", "text", "a list of integers",
                                                 "a list of numbers"};
    throw StudyError(fmt::format("{} = {}: expected {}{}{}", spec.key, given,
                                 names[static_cast<std::size_t>(spec.type)], takesWords(spec) ? ", or one of: " : "",
                                 takesWords(spec) ? fmt::format("{}", fmt::join(spec.choices, ", ")) : ""));
}

} // namespace

bool takesWords(const SettingSpec& spec) {
    return spec.type == SettingType::IntegerList && !spec.choices.empty();
}

void checkValue(const SettingSpec& spec, const SettingValue& value) {
    const auto expect = [&](bool isRight) {
        if (!isRight)
            wrongType(spec, toText(value));
    };
    const auto expectChoice = [&] {
        const std::string& text = std::get<std::string>(value);
        if (!spec.choices.empty() && std::ranges::find(spec.choices, text) == spec.choices.end())
            throw StudyError(fmt::format("{} = \"{}\" is not known{}; allowed: {}", spec.key, text,
                                         didYouMean(text, spec.choices), fmt::join(spec.choices, ", ")));
    };
    if (takesWords(spec) && std::holds_alternative<std::string>(value))
        return expectChoice();
    switch (spec.type) {
    case SettingType::Boolean: expect(std::holds_alternative<bool>(value)); break;
    case SettingType::Integer:
        expect(std::holds_alternative<std::int64_t>(value));
        checkNumber(spec, static_cast<double>(std::get<std::int64_t>(value)));
        break;
    case SettingType::Real:
        expect(std::holds_alternative<double>(value));
        checkNumber(spec, std::get<double>(value));
        break;
    case SettingType::Text:
        expect(std::holds_alternative<std::string>(value));
        expectChoice();
        break;
    case SettingType::IntegerList:
        expect(std::holds_alternative<std::vector<std::int64_t>>(value));
        for (const std::int64_t number : std::get<std::vector<std::int64_t>>(value))
            checkNumber(spec, static_cast<double>(number));
        break;
    case SettingType::RealList:
        expect(std::holds_alternative<std::vector<double>>(value));
        for (const double number : std::get<std::vector<double>>(value))
            checkNumber(spec, number);
        break;
    }
}

namespace {

template <class Number>
std::optional<Number> parseNumber(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

template <class Number>
SettingValue parseList(const SettingSpec& spec, std::string_view text) {
    std::vector<Number> numbers;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find('x', start), text.size());
        const auto number = parseNumber<Number>(text.substr(start, end - start));
        if (!number)
            wrongType(spec, fmt::format("\"{}\"", text));
        numbers.push_back(*number);
        start = end + 1;
    }
    return numbers;
}

} // namespace

SettingValue parseValue(const SettingSpec& spec, std::string_view text) {
    SettingValue value;
    if (takesWords(spec) && std::ranges::find(spec.choices, text) != spec.choices.end())
        return std::string(text);
    switch (spec.type) {
    case SettingType::Boolean:
        if (text == "true" || text == "false")
            value = text == "true";
        break;
    case SettingType::Integer:
        if (const auto number = parseNumber<std::int64_t>(text))
            value = *number;
        break;
    case SettingType::Real:
        if (const auto number = parseNumber<double>(text))
            value = *number;
        break;
    case SettingType::Text: value = std::string(text); break;
    case SettingType::IntegerList: value = parseList<std::int64_t>(spec, text); break;
    case SettingType::RealList: value = parseList<double>(spec, text); break;
    }
    if (std::holds_alternative<std::monostate>(value))
        wrongType(spec, fmt::format("\"{}\"", text));
    checkValue(spec, value);
    return value;
}

std::string toText(const SettingValue& value) {
    struct Visitor {
        std::string operator()(std::monostate) const { return "unset"; }
        std::string operator()(bool v) const { return v ? "true" : "false"; }
        std::string operator()(std::int64_t v) const { return fmt::to_string(v); }
        std::string operator()(double v) const { return fmt::format("{}", v); }
        std::string operator()(const std::string& v) const { return v; }
        std::string operator()(const std::vector<std::int64_t>& v) const {
            return fmt::format("{}", fmt::join(v, "x"));
        }
        std::string operator()(const std::vector<double>& v) const {
            return fmt::format("{}", fmt::join(v, "x"));
        }
    };
    return std::visit(Visitor{}, value);
}

namespace {

/// Levenshtein distance.
std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, substituted});
        }
    }
    return row.back();
}

} // namespace

std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates) {
    std::string_view best;
    std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates)
        if (const std::size_t distance = editDistance(word, candidate); distance < bestDistance) {
            best = candidate;
            bestDistance = distance;
        }
    return best.empty() ? "" : fmt::format(", did you mean \"{}\"?", best);
}

} // namespace driftscope
