// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/SettingJson.h"

#include <algorithm>

namespace driftscope {

Json valueToJson(const SettingValue& value) {
    return std::visit(
        [](const auto& v) -> Json {
            if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
                return nullptr;
            else
                return v;
        },
        value);
}

namespace {
bool isInteger(const Json& value) { return value.is_number_integer(); }
bool isNumber(const Json& value) { return value.is_number(); }
} // namespace

SettingValue valueFromJson(const SettingSpec& spec, const Json& value) {
    if (value.is_null())
        return {};
    const auto areAll = [&](auto isRight) { return value.is_array() && std::ranges::all_of(value, isRight); };
    if (takesWords(spec) && value.is_string()) {
        SettingValue word = value.get<std::string>();
        checkValue(spec, word);
        return word;
    }
    const bool hasType = spec.type == SettingType::Boolean       ? value.is_boolean()
                         : spec.type == SettingType::Integer       ? value.is_number_integer()
                         : spec.type == SettingType::Real        ? value.is_number()
                         : spec.type == SettingType::Text        ? value.is_string()
                         : spec.type == SettingType::IntegerList ? areAll(&isInteger)
                                                                 : areAll(&isNumber);
    if (!hasType)
        throw StudyError(std::string(spec.key) + ": wrong type of JSON value: " + value.dump());
    SettingValue result;
    switch (spec.type) {
    case SettingType::Boolean: result = value.get<bool>(); break;
    case SettingType::Integer: result = value.get<std::int64_t>(); break;
    case SettingType::Real: result = value.get<double>(); break;
    case SettingType::Text: result = value.get<std::string>(); break;
    case SettingType::IntegerList: result = value.get<std::vector<std::int64_t>>(); break;
    case SettingType::RealList: result = value.get<std::vector<double>>(); break;
    }
    checkValue(spec, result);
    return result;
}

Json settingsToJson(std::span<const Assignment> settings) {
    Json object = Json::object();
    for (const auto& [key, value] : settings)
        object[key] = valueToJson(value);
    return object;
}

} // namespace driftscope
