// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/Study.h"

#include "study/PathText.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace driftscope {
namespace {

constexpr int mostRuns = 10000;

bool isGroupAxis(const Study& study, const std::string& key) {
    return std::ranges::find(study.groups, key) != study.groups.end();
}

bool isReference(const Study& study, const std::vector<Assignment>& settings) {
    return std::ranges::all_of(study.reference, [&](const Assignment& wanted) {
        return isGroupAxis(study, wanted.key) || std::ranges::find(settings, wanted) != settings.end();
    });
}

/// At most so many of the last bytes, and of a path no part of a folder's name.
std::string ending(const std::string& text, std::size_t longest) {
    if (text.size() <= longest)
        return text;
    const std::string end = text.substr(text.size() - longest);
    const std::size_t slash = end.find('/');
    return slash == std::string::npos || slash + 1 == end.size() ? end : end.substr(slash + 1);
}

/// "acc2_thr1": file-name safe, and told apart where texts differ only in characters it replaces.
std::string runId(const RunConfig& run, std::set<std::string>& taken) {
    std::string id;
    for (const Assignment& setting : run.settings) {
        const SettingSpec& spec = settingOfAxis(setting.key);
        std::string text = fmt::format("{}{}", spec.shortName, ending(valueText(run, setting), spec.isPath ? 80 : 40));
        std::ranges::replace_if(
            text, [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '+' && c != '-'; }, '-');
        id += (id.empty() ? "" : "_") + text;
    }
    if (id.empty())
        id = "run";
    id.resize(std::min<std::size_t>(id.size(), 150)); // a file name may have 255 bytes
    if (id.front() == '.' || id.front() == '-')
        id.front() = '_';
    std::string unique = id;
    for (int n = 2; !taken.insert(unique).second; ++n)
        unique = fmt::format("{}~{}", id, n);
    return unique;
}

} // namespace

std::vector<std::string> valueTexts(const Axis& axis) {
    std::vector<std::string> texts;
    for (const SettingValue& value : axis.values)
        texts.push_back(toText(value));
    return settingOfAxis(axis.key).isPath ? shortPaths(texts) : texts;
}

std::string groupOf(const Study& study, const RunConfig& run) {
    std::string group;
    for (const auto& [key, value] : run.settings)
        if (isGroupAxis(study, key))
            group += fmt::format("{} = {}\n", key, toText(value));
    return group;
}

void applyFullSize(Study& study) {
    if (study.full.empty())
        throw StudyError(fmt::format("{}: has no [full] section, which says what its full size is", study.name));
    // what the smaller size uses is there for that, and no mistake at this one
    const std::vector<RunConfig> smaller = expand(study);
    std::erase_if(study.named, [&](const std::string& key) {
        return std::ranges::any_of(
            smaller, [&](const RunConfig& run) { return whyUnused(run, settingNamed(key)).empty(); });
    });
    for (const auto& [key, values] : std::exchange(study.full, {}))
        setAxis(study, settingNamed(key), values);
    expand(study); // must be possible
}

std::vector<RunConfig> expand(const Study& study) {
    std::vector<RunConfig> runs;
    std::set<std::string> ids;
    double combinations = 1;
    for (const Axis& axis : study.axes)
        combinations *= static_cast<double>(axis.values.size());
    if (combinations > mostRuns)
        throw StudyError(fmt::format("the axes make {:.0f} runs: allowed are {}; name fewer values", combinations,
                                     mostRuns));
    std::vector<std::vector<std::string>> texts;
    for (const Axis& axis : study.axes)
        texts.push_back(valueTexts(axis));
    std::vector<std::size_t> index(study.axes.size(), 0);
    std::set<std::string> groupsWithReference;
    for (bool more = true; more;) {
        RunConfig run = study.base;
        run.study = study.name;
        for (std::size_t i = 0; i < study.axes.size(); ++i) {
            const auto& [key, values] = study.axes[i];
            const SettingSpec& spec = settingOfAxis(key);
            spec.set(run, values[index[i]]);
            run.settings.push_back({key, values[index[i]]});
            if (spec.isPath)
                run.shortValues[key] = texts[i][index[i]];
        }
        run.id = runId(run, ids);
        run.isReference = isReference(study, run.settings) && groupsWithReference.insert(groupOf(study, run)).second;
        validate(run);
        runs.push_back(std::move(run));

        more = false;
        for (std::size_t i = index.size(); i-- > 0 && !more;) {
            index[i] = (index[i] + 1) % study.axes[i].values.size();
            more = index[i] != 0;
        }
    }
    for (const Axis& axis : study.axes) {
        const SettingSpec& spec = settingOfAxis(axis.key);
        if (axis.values.size() > 1 &&
            std::ranges::none_of(runs, [&](const RunConfig& run) { return whyUnused(run, spec).empty(); }))
            throw StudyError(fmt::format("axis {} changes nothing here: {}", axis.key, whyUnused(runs.front(), spec)));
    }
    if (study.control) {
        const std::size_t count = runs.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (!runs[i].isReference)
                continue;
            RunConfig control = runs[i];
            control.isReference = false;
            control.isControl = true;
            control.id += "~again";
            runs.push_back(std::move(control));
        }
    }
    if (study.twin == "float64") {
        const std::size_t count = runs.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (runs[i].isControl || runs[i].train.dtype == "float64")
                continue;
            RunConfig twin = runs[i];
            twin.isTwin = true;
            twin.train.dtype = "float64";
            twin.train.autocast = false; // fewer bits are what the twin does without
            twin.train.tf32 = "off";
            twin.id += twinSuffix;
            runs.push_back(std::move(twin));
        }
    }
    return runs;
}

std::vector<std::string> unusedSettings(const Study& study) {
    std::vector<RunConfig> runs = expand(study);
    if (!study.full.empty()) { // a setting may be there for the full size
        Study full = study;
        applyFullSize(full);
        std::ranges::move(expand(full), std::back_inserter(runs));
    }
    std::vector<std::string> sentences;
    for (const SettingSpec& spec : settingSpecs())
        if (study.named.contains(spec.axisKey()) &&
            std::ranges::none_of(runs, [&](const RunConfig& run) { return whyUnused(run, spec).empty(); }))
            sentences.push_back(
                fmt::format("[{}] {} changes nothing here: {}", spec.section, spec.key, whyUnused(runs.front(), spec)));
    return sentences;
}

void applyOverride(Study& study, std::string_view keyAndValues) {
    const std::size_t equals = keyAndValues.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == keyAndValues.size())
        throw StudyError(fmt::format("--set {}: expected key=value, key=value,value,… or key=[value, value, …]",
                                     keyAndValues));
    const SettingSpec& spec = settingNamed(keyAndValues.substr(0, equals));

    std::vector<SettingValue> values;
    const std::string_view text = keyAndValues.substr(equals + 1);
    if (text.front() == '[') {
        values = parseTomlValues(spec, keyAndValues);
    } else {
        for (std::size_t start = 0; start <= text.size();) {
            const std::size_t end = std::min(text.find(',', start), text.size());
            values.push_back(parseValue(spec, text.substr(start, end - start)));
            start = end + 1;
        }
    }
    if (values.size() > 1 && !spec.canBeAxis) {
        const bool isList = spec.type == SettingType::IntegerList || spec.type == SettingType::RealList;
        throw StudyError(fmt::format("{} cannot be an axis: give it one value{}", spec.key,
                                     isList ? fmt::format(", such as {}=[{}]", spec.axisKey(), text) : ""));
    }
    const std::string key = spec.axisKey();
    const bool isPath = key == "path" || key == "targets" || key == "model.path" || key == "blas";
    for (SettingValue& value : values) // relative to where the user is
        if (auto* path = std::get_if<std::string>(&value); path && isPath && !path->empty() && *path != "system")
            *path = std::filesystem::absolute(*path).lexically_normal().string();
    setAxis(study, spec, std::move(values));
}

void setAxis(Study& study, const SettingSpec& spec, std::vector<SettingValue> values) {
    const std::string key = spec.axisKey();
    study.named.insert(key);
    if (key == "repeat" && values.size() == 1) {
        const auto count = std::get<std::int64_t>(values.front());
        values.clear();
        for (std::int64_t i = 1; i <= count; ++i)
            values.emplace_back(i);
    }
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
            values.begin() + static_cast<std::ptrdiff_t>(i))
            throw StudyError(fmt::format("{} names {} twice; to run the same settings again use the "
                                         "axis repeat",
                                         key, toText(values[i])));

    const auto axis = std::ranges::find(study.axes, key, &Axis::key);
    const auto reference = std::ranges::find(study.reference, key, &Assignment::key);
    // steps and epochs exclude each other: the one that is set last holds
    if (key == "steps")
        study.base.train.epochs.reset();
    if (key == "epochs")
        study.base.train.steps.reset();
    if (values.size() == 1) {
        spec.set(study.base, values.front());
        if (axis != study.axes.end()) {
            study.axes.erase(axis);
            study.reference.erase(reference);
            std::erase(study.groups, key);
        }
        return;
    }
    if (axis == study.axes.end()) {
        study.reference.push_back({key, values.front()});
        study.axes.push_back({key, std::move(values)});
        return;
    }
    if (std::ranges::find(values, reference->value) == values.end())
        reference->value = values.front();
    axis->values = std::move(values);
}

} // namespace driftscope
