// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/TomlValues.h"

#include "study/Study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <type_traits>

namespace driftscope {
namespace {

template <class Number>
SettingValue list(const toml::node& node) {
    std::vector<Number> numbers;
    if (!node.is_array())
        return {};
    for (const toml::node& element : *node.as_array()) {
        if (std::is_integral_v<Number> ? !element.is_integer() : !element.is_number())
            return {};
        numbers.push_back(*element.value<Number>());
    }
    return numbers;
}

} // namespace

SettingValue valueFromToml(const SettingSpec& spec, const toml::node& node) {
    SettingValue result;
    if (takesWords(spec) && node.is_string())
        result = *node.value<std::string>();
    else switch (spec.type) {
    case SettingType::Boolean:
        if (node.is_boolean())
            result = *node.value<bool>();
        break;
    case SettingType::Integer:
        if (node.is_integer())
            result = *node.value<std::int64_t>();
        break;
    case SettingType::Real:
        if (node.is_number())
            result = *node.value<double>();
        break;
    case SettingType::Text:
        if (node.is_string())
            result = *node.value<std::string>();
        break;
    case SettingType::IntegerList: result = list<std::int64_t>(node); break;
    case SettingType::RealList: result = list<double>(node); break;
    }
    if (std::holds_alternative<std::monostate>(result)) {
        std::ostringstream shown;
        shown << toml::node_view<const toml::node>(node);
        throw StudyError(fmt::format("{} = {}: wrong type; {}", spec.key, shown.str(), spec.help));
    }
    checkValue(spec, result);
    return result;
}

std::vector<const toml::node*> axisNodes(const SettingSpec& spec, const toml::node& node) {
    const bool isList = spec.type == SettingType::IntegerList || spec.type == SettingType::RealList;
    const toml::array* array = node.as_array();
    std::vector<const toml::node*> nodes;
    if (!array || (isList && !array->empty() && !array->front().is_array()))
        nodes.push_back(&node);
    else
        for (const toml::node& element : *array)
            nodes.push_back(&element);
    return nodes;
}

namespace {

/// Text in double quotes, as study files have it.
template <class Value>
std::string written(const Value& value) {
    const toml::value<Value> node(value);
    std::ostringstream out;
    out << toml::toml_formatter{node, toml::toml_formatter::default_flags & ~toml::format_flags::allow_literal_strings};
    return out.str();
}

} // namespace

std::string toTomlText(const SettingValue& value) {
    return std::visit(
        [](const auto& v) -> std::string {
            using Value = std::decay_t<decltype(v)>;
            if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
                return written(v);
            } else if constexpr (std::is_same_v<Value, std::monostate>) {
                return "";
            } else {
                std::vector<std::string> texts;
                for (const auto number : v)
                    texts.push_back(written(number));
                return fmt::format("[{}]", fmt::join(texts, ", "));
            }
        },
        value);
}

std::string tomlKey(const std::string& key) {
    return key.find('.') == std::string::npos ? key : fmt::format("\"{}\"", key);
}

} // namespace driftscope
