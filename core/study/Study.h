// SPDX-License-Identifier: GPL-3.0-or-later
// A study: one training recipe and the axes that vary. TOML in, validated, expanded to runs.
#pragma once

#include "study/RunConfig.h"
#include "study/Setting.h"

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

struct Axis {
    std::string key;
    std::vector<SettingValue> values;
};

/// Its values as legends and file names show them: of files only what tells them apart.
std::vector<std::string> valueTexts(const Axis& axis);

struct Study {
    std::string name;
    std::string description;
    std::string twin = "none"; ///< "float64": every run once more in float64
    bool control = false;      ///< the reference once more, to see that equal settings give equal bits
    RunConfig base;            ///< settings that no axis overrides
    std::vector<Axis> axes;
    std::vector<Assignment> reference; ///< one value per axis, in the order of axes
    std::vector<std::string> groups;   ///< axes each of whose values has a reference of its own
    std::vector<Axis> full;            ///< what replaces settings and axes for the study's full size
    std::set<std::string> named;       ///< axis keys of the settings that its file or the user gave a value
};

/// Reads and checks a study. `source` is for messages ("file:line:column: …") and its folder is what
/// relative data paths refer to. Throws StudyError.
Study parseStudy(std::string_view toml, const std::filesystem::path& source);
Study readStudy(const std::filesystem::path& file);

/// TOML that parses to the same study.
std::string toToml(const Study& study);

/// Makes the setting an axis with these values, or overrides it in the base where there is one value;
/// repeat = n means the axis 1 … n. Throws StudyError if a value is named twice.
void setAxis(Study& study, const SettingSpec& spec, std::vector<SettingValue> values);

/// The values of "key=[…]", written in TOML: one for each element, or one list where the setting is a list and the
/// elements are none. Throws StudyError with the column.
std::vector<SettingValue> parseTomlValues(const SettingSpec& spec, std::string_view keyAndValues);

/// The user's `--set key=v1,v2` or `--set key=[v1, v2]`: one value overrides the setting, several make an axis; files
/// are relative to the working directory. Throws StudyError. Whether all overrides together are possible, expand() says.
void applyOverride(Study& study, std::string_view keyAndValues);

/// What a twin's id has behind that of its run.
constexpr const char* twinSuffix = "~float64";

/// What the runs with one reference have in common: the values of the group axes.
std::string groupOf(const Study& study, const RunConfig& run);

/// Takes over the settings and axes of the study's full size. Throws StudyError if it has none.
void applyFullSize(Study& study);

/// All combinations of the axes' values in order, the last axis fastest; the reference of each group, first
/// among equals, is marked. Then the controls and the twins, if the study asks for them. Throws StudyError if a
/// combination is impossible.
std::vector<RunConfig> expand(const Study& study);

/// A sentence for each setting that the study names although it changes nothing in any of its runs, nor at its
/// full size. Throws as expand().
std::vector<std::string> unusedSettings(const Study& study);

/// A study that comes with the program (resources/studies), compiled in.
struct BuiltInStudy {
    std::string_view name;
    std::string_view toml;
};
std::span<const BuiltInStudy> builtInStudies();

/// Reads a study from a .toml file, a study folder, or by the name of a built-in one. Throws
/// StudyError that lists what there is.
Study loadStudy(const std::string& pathOrName);

} // namespace driftscope
