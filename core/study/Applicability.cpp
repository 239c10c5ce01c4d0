// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/Applicability.h"

namespace driftscope {
namespace {

std::string problemOf(const RunConfig& run) {
    try {
        validate(run);
        return "";
    } catch (const StudyError& error) {
        return error.what();
    }
}

/// A value that turns on what is off by default; none for what has no such value.
SettingValue turnedOn(const SettingSpec& spec) {
    const SettingValue off = spec.get(RunConfig{});
    switch (spec.type) {
    case SettingType::Boolean: return true;
    case SettingType::Integer:
        if (std::holds_alternative<std::monostate>(off) || off == SettingValue(std::int64_t{0}))
            return std::int64_t{1};
        break;
    case SettingType::Real:
        if (off == SettingValue(0.0))
            return 0.5;
        break;
    case SettingType::Text:
        if (spec.isPath && off == SettingValue(std::string()))
            return std::string("file");
        break;
    default: break;
    }
    return {};
}

} // namespace

std::string whyInapplicable(const RunConfig& run, const SettingSpec& spec) {
    if (std::string reason = whyUnused(run, spec); !reason.empty())
        return reason;
    const SettingValue on = turnedOn(spec);
    const bool excludesAnother = spec.section == "train" && (spec.key == "steps" || spec.key == "epochs");
    if (std::holds_alternative<std::monostate>(on) || excludesAnother)
        return "";
    RunConfig changed = run;
    spec.set(changed, on);
    const std::string problem = problemOf(changed);
    return problem == problemOf(run) ? "" : problem;
}

} // namespace driftscope
