// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/ValueRanges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace driftscope {
namespace {

constexpr std::size_t mostValues = 1000; ///< of a range: more are a slip of the hand

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Range {
    std::string_view first, last, step;
    bool isFactor = false;
};

std::optional<Range> rangeIn(std::string_view text) {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos || dots == 0)
        return std::nullopt;
    Range range{trimmed(text.substr(0, dots)), trimmed(text.substr(dots + 2)), "", false};
    for (const auto& [word, isFactor] : {std::pair(std::string_view(" by "), false), {std::string_view(" x"), true}})
        if (const std::size_t place = range.last.find(word); place != std::string_view::npos) {
            range.step = trimmed(range.last.substr(place + word.size()));
            range.last = trimmed(range.last.substr(0, place));
            range.isFactor = isFactor;
            break;
        }
    return range;
}

[[noreturn]] void wrongRange(const SettingSpec& spec) {
    throw StudyError(fmt::format("{}: a range goes up in at most {} values, as 1..8, 0..100 by 25, or 1..16 x2", spec.key,
                                 mostValues));
}

std::vector<SettingValue> integers(const SettingSpec& spec, const Range& range, std::int64_t first, std::int64_t last,
                                   std::int64_t step) {
    if (last < first || (range.isFactor ? step < 2 || first < 1 : step < 1))
        wrongRange(spec);
    std::vector<SettingValue> values;
    for (std::int64_t value = first;; value = range.isFactor ? value * step : value + step) {
        values.emplace_back(value);
        if (range.isFactor ? value > last / step : value > last - step)
            return values;
        if (values.size() == mostValues)
            wrongRange(spec);
    }
}

std::vector<SettingValue> reals(const SettingSpec& spec, const Range& range, double first, double last, double step) {
    if (last < first || (range.isFactor ? step <= 1 || first <= 0 : step <= 0))
        wrongRange(spec);
    constexpr double slack = 1e-9; // of a step: the last value counts though 3 · 0.1 is more than 0.3
    const double steps = range.isFactor ? std::log(last / first) / std::log(step) : (last - first) / step;
    if (steps + 1 > static_cast<double>(mostValues))
        wrongRange(spec);
    std::vector<SettingValue> values;
    for (int i = 0; i <= static_cast<int>(steps + slack); ++i) {
        const double value = range.isFactor ? first * std::pow(step, i) : first + i * step;
        values.push_back(parseValue(spec, fmt::format("{:.12g}", value))); // 0.3, not 0.30000000000000004
    }
    return values;
}

std::vector<SettingValue> valuesOf(const SettingSpec& spec, const Range& range) {
    SettingSpec free = spec; // a step is no value of the setting
    free.minimum.reset();
    free.maximum.reset();
    const SettingValue first = parseValue(spec, range.first), last = parseValue(spec, range.last);
    const SettingValue step = parseValue(free, range.step.empty() ? "1" : range.step);
    if (spec.type == SettingType::Integer)
        return integers(spec, range, std::get<std::int64_t>(first), std::get<std::int64_t>(last),
                        std::get<std::int64_t>(step));
    return reals(spec, range, std::get<double>(first), std::get<double>(last), std::get<double>(step));
}

} // namespace

std::vector<SettingValue> parseValues(const SettingSpec& spec, std::string_view text) {
    std::vector<SettingValue> values;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const std::string_view part = trimmed(text.substr(start, end - start));
        start = end + 1;
        const std::optional<Range> range = rangeIn(part);
        if (range && (spec.type == SettingType::Integer || spec.type == SettingType::Real))
            std::ranges::copy(valuesOf(spec, *range), std::back_inserter(values));
        else
            values.push_back(parseValue(spec, part));
    }
    return values;
}

} // namespace driftscope
