// SPDX-License-Identifier: GPL-3.0-or-later
#include "study/StudyDraft.h"

#include "study/Applicability.h"
#include "study/TomlValues.h"

#include <algorithm>

namespace driftscope {
namespace {

class Reader {
public:
    explicit Reader(std::string_view text) : m_text(text) {}

    void read(StudyDraft& draft) {
        const toml::table root = toml::parse(m_text);
        for (const std::string_view section : {"model", "data", "train", "record"})
            if (const toml::table* table = root[section].as_table())
                for (const auto& [key, node] : *table)
                    if (const SettingSpec* spec = findSetting(section, key.str()))
                        readSetting(draft, *spec, node);
        if (const toml::table* axes = root["axes"].as_table())
            readAxes(*axes, "", draft.axes);
        if (const toml::table* full = root["full"].as_table())
            readAxes(*full, "", draft.full);
        for (std::vector<DraftAxis>* axes : {&draft.axes, &draft.full})
            std::ranges::sort(*axes, {}, &DraftAxis::line);
        if (const toml::table* study = root["study"].as_table())
            readStudy(draft, *study);
    }

private:
    static DraftValue valueOf(const SettingSpec& spec, const toml::node& node) {
        DraftValue value;
        std::ostringstream shown;
        shown << toml::node_view<const toml::node>(node);
        value.text = shown.str();
        try {
            value.value = valueFromToml(spec, node);
        } catch (const StudyError& error) {
            value.problem = error.what();
        }
        return value;
    }

    static void readSetting(StudyDraft& draft, const SettingSpec& spec, const toml::node& node) {
        draft.settings.push_back({&spec, valueOf(spec, node), static_cast<int>(node.source().begin.line)});
        if (const DraftValue& value = draft.settings.back().value; value.problem.empty())
            spec.set(draft.base, value.value);
    }

    static void readAxes(const toml::table& table, const std::string& prefix, std::vector<DraftAxis>& axes) {
        for (const auto& [key, node] : table) {
            const std::string name = prefix + std::string(key.str());
            if (const toml::table* inner = node.as_table()) {
                readAxes(*inner, name + ".", axes);
                continue;
            }
            try {
                const SettingSpec& spec = settingNamed(name);
                DraftAxis axis{.spec = &spec, .line = static_cast<int>(key.source().begin.line)};
                for (const toml::node* value : axisNodes(spec, node))
                    axis.values.push_back(valueOf(spec, *value));
                axes.push_back(std::move(axis));
            } catch (const StudyError&) { // no such setting: the problem says so
            }
        }
    }

    static void readStudy(StudyDraft& draft, const toml::table& study) {
        draft.name = study["name"].value_or(std::string());
        draft.description = study["description"].value_or(std::string());
        draft.twin = study["twin"].value_or(draft.twin);
        draft.control = study["control"].value_or(false);
        for (DraftAxis& axis : draft.axes) {
            const std::string key = axis.spec->axisKey();
            if (const toml::array* groups = study["groups"].as_array())
                for (const toml::node& group : *groups)
                    axis.isGroup = axis.isGroup || group.value_or(std::string()) == key;
            if (const toml::table* reference = study["reference"].as_table())
                if (const toml::node* node = reference->get(key))
                    if (const DraftValue value = valueOf(*axis.spec, *node); value.problem.empty())
                        axis.reference = toText(value.value);
        }
    }

    std::string_view m_text;
};

/// The base, and with each value of each axis.
std::vector<RunConfig> variants(const StudyDraft& draft) {
    std::vector<RunConfig> runs{draft.base};
    for (const DraftAxis& axis : draft.axes)
        for (const DraftValue& value : axis.values)
            if (value.problem.empty()) {
                runs.push_back(draft.base);
                axis.spec->set(runs.back(), value.value);
            }
    return runs;
}

void findInapplicable(StudyDraft& draft) {
    const std::vector<RunConfig> runs = variants(draft);
    for (const SettingSpec& spec : settingSpecs()) {
        std::string reason;
        const bool isApplicable = std::ranges::any_of(runs, [&](const RunConfig& run) {
            const std::string why = whyInapplicable(run, spec);
            if (reason.empty())
                reason = why;
            return why.empty();
        });
        if (!isApplicable)
            draft.inapplicable.emplace(&spec, reason);
    }
}

} // namespace

const DraftSetting* StudyDraft::setting(const SettingSpec& spec) const {
    const auto found = std::ranges::find(settings, &spec, &DraftSetting::spec);
    return found == settings.end() ? nullptr : &*found;
}

const DraftAxis* StudyDraft::axis(const SettingSpec& spec) const {
    const auto found = std::ranges::find(axes, &spec, &DraftAxis::spec);
    return found == axes.end() ? nullptr : &*found;
}

const SettingSpec* StudyDraft::problemSetting() const {
    if (!problem || problem->line == 0)
        return nullptr;
    for (const DraftSetting& setting : settings)
        if (setting.line == problem->line)
            return setting.spec;
    for (const std::vector<DraftAxis>* list : {&axes, &full})
        for (const DraftAxis& axis : *list)
            if (axis.line == problem->line)
                return axis.spec;
    return nullptr;
}

StudyDraft readDraft(std::string_view toml, const std::filesystem::path& source) {
    StudyDraft draft;
    try {
        Reader(toml).read(draft);
    } catch (const toml::parse_error&) {
        draft = {};
        draft.isToml = false;
    }
    if (draft.name.empty())
        draft.name = source.stem().string();
    try {
        findInapplicable(draft);
        draft.study = parseStudy(toml, source);
        draft.runs = expand(*draft.study);
        draft.warnings = unusedSettings(*draft.study);
    } catch (const StudyTextError& error) {
        draft.problem = {error.line, error.column, error.sentence};
    } catch (const std::exception& error) {
        draft.problem = {0, 0, error.what()};
    }
    if (draft.problem)
        draft.study.reset();
    return draft;
}

} // namespace driftscope
