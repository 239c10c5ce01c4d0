// SPDX-License-Identifier: GPL-3.0-or-later
// One table of all settings: TOML, JSON, --set, axes, validation and help texts all read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace driftscope {

struct RunConfig;

/// Bad input in a study, fit for the user: what, where, what is allowed.
struct StudyError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// std::monostate: not set.
using SettingValue = std::variant<std::monostate, bool, std::int64_t, double, std::string,
                                  std::vector<std::int64_t>, std::vector<double>>;

/// An axis key with one of its values.
struct Assignment {
    std::string key;
    SettingValue value;
    bool operator==(const Assignment&) const = default;
};

enum class SettingType { Boolean, Integer, Real, Text, IntegerList, RealList };

struct SettingSpec {
    std::string_view section;   ///< model, data, train or record
    std::string_view key;
    std::string_view shortName; ///< in legends and file names
    std::string_view help;
    SettingType type = SettingType::Text;
    std::vector<std::string_view> choices{};           ///< for Text, empty: any text; for lists: words allowed instead
    std::optional<double> minimum{};                   ///< for numbers, also those in lists
    std::optional<double> maximum{};
    bool minimumIsAllowed = true;
    bool canBeAxis = true;
    bool isPath = false; ///< names a file or folder
    SettingValue (*get)(const RunConfig&) = nullptr;
    void (*set)(RunConfig&, const SettingValue&) = nullptr;

    /// "train.batch", or "batch" where it is the first of train, data, model and record that has the key.
    [[nodiscard]] std::string axisKey() const;
};

std::span<const SettingSpec> settingSpecs();

/// By section and key; nullptr if there is none.
const SettingSpec* findSetting(std::string_view section, std::string_view key);

/// By name: "data.limit", or a bare key, see axisKey.
/// Throws StudyError with a "did you mean".
const SettingSpec& settingNamed(std::string_view name);

/// The same, for what can be an axis. Throws StudyError.
const SettingSpec& settingOfAxis(std::string_view name);

/// True for a list that a word may stand for, as steps = "log".
bool takesWords(const SettingSpec& spec);

/// Throws StudyError that names the key and what is allowed.
void checkValue(const SettingSpec& spec, const SettingValue& value);

/// Converts what a user typed ("2", "1e-3", "avx2", "3x32x32") to the setting's type and checks it.
SettingValue parseValue(const SettingSpec& spec, std::string_view text);

/// As parseValue reads it; reals with the fewest digits that give the same value back.
std::string toText(const SettingValue& value);

/// ", did you mean "batch"?" for the nearest of the candidates, or "" if none is near.
std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates);

} // namespace driftscope
