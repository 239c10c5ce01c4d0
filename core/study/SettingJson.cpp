// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/SettingJson.h"

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

SettingValue valueFromJson(const SettingSpec& spec, const Json& value) {
    if (value.is_null())
        return {};
    SettingValue result;
    switch (spec.type) {
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
