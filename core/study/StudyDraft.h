// SPDX-License-Identifier: GPL-3.0-or-later
// What the text of a study says as far as it is right: what a form shows beside the text while it is being written.
#pragma once

#include "study/Setting.h"
#include "study/Study.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// A value as it stands in the text.
struct DraftValue {
    SettingValue value{};  ///< none where it is wrong
    std::string text{};    ///< as it is written
    std::string problem{}; ///< why it is wrong, or ""
};

/// A setting that the text gives a value.
struct DraftSetting {
    const SettingSpec* spec = nullptr;
    DraftValue value{};
    int line = 0; ///< from 1
};

struct DraftAxis {
    const SettingSpec* spec = nullptr;
    std::vector<DraftValue> values{};
    std::string reference{}; ///< toText of the reference's value; "" where the text names none
    bool isGroup = false;
    int line = 0;
};

struct StudyDraft {
    std::string name{}, description{};
    std::string twin = "none";
    bool control = false;
    std::vector<DraftSetting> settings{};
    std::vector<DraftAxis> axes{}, full{};
    RunConfig base{}; ///< with the settings that are right
    /// Why a setting has no place in any of the study's runs; only those that have none.
    std::map<const SettingSpec*, std::string> inapplicable{};

    struct Problem {
        int line = 0, column = 0; ///< 0: none in particular
        std::string what{};
    };
    std::optional<Problem> problem{}; ///< the first
    bool isToml = true;               ///< false: all but `problem` is as in an empty study
    std::optional<Study> study{};     ///< where there is no problem
    std::vector<RunConfig> runs{};    ///< expand(*study)
    std::vector<std::string> warnings{}; ///< unusedSettings(*study)

    [[nodiscard]] const DraftSetting* setting(const SettingSpec& spec) const;
    [[nodiscard]] const DraftAxis* axis(const SettingSpec& spec) const;
    /// The setting or axis that stands on the line of `problem`; nullptr: another thing or none.
    [[nodiscard]] const SettingSpec* problemSetting() const;
};

/// Never throws. `source` as for parseStudy.
StudyDraft readDraft(std::string_view toml, const std::filesystem::path& source);

} // namespace driftscope
