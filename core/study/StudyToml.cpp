// SPDX-License-Identifier: GPL-3.0-or-later
// study.toml in and out. Each message starts with file:line:column.
#include "study/Study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ranges>
#include <sstream>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view sections[] = {"study", "model", "data", "train", "axes", "record", "full"};
constexpr std::string_view studyKeys[] = {"name", "description", "reference", "groups", "twin", "control"};

class Parser {
public:
    explicit Parser(fs::path source) : m_source(std::move(source)) {}

    Study parse(std::string_view text) {
        toml::table root;
        try {
            root = toml::parse(text, m_source.string());
        } catch (const toml::parse_error& error) {
            fail(error.source(), std::string(error.description()));
        }
        for (const auto& [name, node] : root) {
            if (std::ranges::find(sections, name.str()) == std::end(sections))
                fail(name.source(), fmt::format("unknown section [{}]{}; sections: {}", name.str(),
                                                didYouMean(name.str(), sections),
                                                fmt::join(sections, ", ")));
            if (!node.is_table())
                fail(node.source(), fmt::format("{} must be a section: [{}]", name.str(), name.str()));
        }
        for (const std::string_view section : {"model", "data", "train", "record"})
            readSection(section, root[section].as_table());
        readAxes(root["axes"].as_table(), "", settingOfAxis, [this](const SettingSpec& spec, const toml::node& node) {
            readAxis(spec, node);
        });
        readStudy(root["study"].as_table());
        resolvePaths(); // the reference's too
        at(root["axes"].node() ? *root["axes"].node() : static_cast<toml::node&>(root),
           [&] { expand(m_study); });
        readFullSize(root["full"].as_table());
        return std::move(m_study);
    }

    std::vector<SettingValue> parseValues(const SettingSpec& spec, std::string_view keyAndValues) {
        // a plain key as long as the user's keeps the columns right
        std::string text(keyAndValues);
        const std::size_t equals = text.find('=');
        text.replace(0, equals, std::string(equals, 'k'));
        toml::table root;
        try {
            root = toml::parse(text, m_source.string());
        } catch (const toml::parse_error& error) {
            fail(error.source(), std::string(error.description()));
        }
        if (root.size() != 1)
            throw StudyError(fmt::format("--set {}: expected one setting", keyAndValues));
        return readValues(spec, root.begin()->second);
    }

private:
    [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const {
        throw StudyError(
            fmt::format("{}:{}:{}: {}", m_source.string(), where.begin.line, where.begin.column, what));
    }

    /// Runs `work` and puts the node's place before what a StudyError says.
    void at(const toml::node& node, const std::function<void()>& work) const {
        try {
            work();
        } catch (const StudyError& error) {
            fail(node.source(), error.what());
        }
    }

    void readSection(std::string_view section, const toml::table* table) {
        if (!table)
            return;
        std::vector<std::string_view> keys;
        for (const SettingSpec& spec : settingSpecs())
            if (spec.section == section)
                keys.push_back(spec.key);
        for (const auto& [key, node] : *table) {
            const SettingSpec* spec = findSetting(section, key.str());
            if (!spec)
                fail(key.source(), fmt::format("unknown key \"{}\" in [{}]{}; keys: {}", key.str(), section,
                                               didYouMean(key.str(), keys), fmt::join(keys, ", ")));
            at(node, [&] { spec->set(m_study.base, value(*spec, node)); });
            m_study.named.insert(spec->axisKey());
        }
    }

    /// Paths are relative to the study's folder.
    void resolvePaths() {
        const auto resolve = [this](std::string_view key, std::string& path) {
            if (path.empty() || (key == "blas" && path == "system") || fs::path(path).is_absolute())
                return;
            std::error_code error;
            const fs::path joined = fs::absolute(m_source, error).parent_path() / path;
            const fs::path canonical = fs::weakly_canonical(joined, error);
            path = error ? joined.lexically_normal().string() : canonical.string();
        };
        resolve("path", m_study.base.data.path);
        resolve("targets", m_study.base.data.targets);
        resolve("model.path", m_study.base.model.path);
        resolve("blas", m_study.base.train.blas);
        for (Axis& axis : m_study.axes)
            if (axis.key == "path" || axis.key == "model.path" || axis.key == "targets" || axis.key == "blas") {
                for (SettingValue& value : axis.values)
                    resolve(axis.key, std::get<std::string>(value));
                const auto reference = std::ranges::find(m_study.reference, axis.key, &Assignment::key);
                resolve(axis.key, std::get<std::string>(reference->value));
            }
    }

    /// Axes may be written "data.limit" = [...] or data.limit = [...], which TOML nests.
    using TakeAxis = std::function<void(const SettingSpec&, const toml::node&)>;
    void readAxes(const toml::table* table, const std::string& prefix,
                  const SettingSpec& (*find)(std::string_view name), const TakeAxis& take) {
        if (!table)
            return;
        // toml++ sorts keys by name; the order in the file is the order of the axes.
        std::vector<std::pair<const toml::key*, const toml::node*>> entries;
        for (const auto& [key, node] : *table)
            entries.emplace_back(&key, &node);
        std::ranges::sort(entries, {}, [](const auto& entry) {
            const toml::source_position begin = entry.first->source().begin;
            return std::pair(begin.line, begin.column);
        });
        for (const auto& [key, node] : entries) {
            const std::string name = prefix + std::string(key->str());
            if (node->is_table()) {
                readAxes(node->as_table(), name + ".", find, take);
                continue;
            }
            const SettingSpec* spec = nullptr;
            try {
                spec = &find(name);
            } catch (const StudyError& error) {
                fail(key->source(), error.what());
            }
            take(*spec, *node);
        }
    }

    /// One value, or an array of them.
    std::vector<SettingValue> readValues(const SettingSpec& spec, const toml::node& node) {
        const bool isList = spec.type == SettingType::IntegerList || spec.type == SettingType::RealList;
        std::vector<SettingValue> values;
        const toml::array* array = node.as_array();
        if (array && !(isList && !array->empty() && !array->front().is_array())) {
            for (const toml::node& element : *array)
                at(element, [&] { values.push_back(value(spec, element)); });
            if (values.empty())
                fail(node.source(), fmt::format("axis {} has no values", spec.axisKey()));
        } else {
            at(node, [&] { values.push_back(value(spec, node)); });
        }
        return values;
    }

    void readAxis(const SettingSpec& spec, const toml::node& node) {
        if (std::ranges::find(m_study.axes, spec.axisKey(), &Axis::key) != m_study.axes.end())
            fail(node.source(), fmt::format("axis {} is named twice", spec.axisKey()));
        std::vector<SettingValue> values = readValues(spec, node);
        const bool isSingle = node.is_array() && values.size() == 1;
        at(node, [&] {
            if (isSingle) { // [1] stays an axis of one value, so that a legend still shows it
                spec.set(m_study.base, values.front());
                m_study.named.insert(spec.axisKey());
                m_study.axes.push_back({spec.axisKey(), std::move(values)});
                m_study.reference.push_back({spec.axisKey(), m_study.axes.back().values.front()});
            } else {
                setAxis(m_study, spec, std::move(values));
            }
        });
    }

    void readStudy(const toml::table* table) {
        m_study.name = m_source.stem().string();
        if (!table)
            return;
        for (const auto& [key, node] : *table) {
            const std::string_view name = key.str();
            if (name == "reference")
                readReference(node);
            else if (name == "name")
                m_study.name = text(name, node);
            else if (name == "description")
                m_study.description = text(name, node);
            else if (name == "groups")
                readGroups(node);
            else if (name == "twin")
                m_study.twin = text(name, node);
            else if (name == "control" && node.is_boolean())
                m_study.control = *node.value<bool>();
            else if (name == "control")
                fail(node.source(), "control: expected true or false");
            else
                fail(key.source(), fmt::format("unknown key \"{}\" in [study]{}; keys: {}", name,
                                               didYouMean(name, studyKeys), fmt::join(studyKeys, ", ")));
        }
        static constexpr std::string_view twins[] = {"none", "float64"};
        if (std::ranges::find(twins, m_study.twin) == std::end(twins))
            fail((*table)["twin"].node()->source(), fmt::format("twin = \"{}\" is not known{}; allowed: {}",
                                              m_study.twin, didYouMean(m_study.twin, twins),
                                              fmt::join(twins, ", ")));
        if (m_study.name.empty())
            fail((*table)["name"].node()->source(), "name must not be empty");
    }

    std::string text(std::string_view key, const toml::node& node) const {
        if (const auto value = node.value<std::string>(); value && node.is_string())
            return *value;
        fail(node.source(), fmt::format("{}: expected text", key));
    }

    void readGroups(const toml::node& node) {
        if (!node.is_array())
            fail(node.source(), "groups: expected a list of axes, such as [\"optimizer\"]");
        std::vector<std::string_view> names;
        for (const Axis& axis : m_study.axes)
            names.push_back(axis.key);
        for (const toml::node& element : *node.as_array()) {
            const std::string name = text("groups", element);
            if (std::ranges::find(names, name) == names.end())
                fail(element.source(), fmt::format("groups names \"{}\", which is no axis of this study{}; axes: {}", name,
                                                   didYouMean(name, names), fmt::join(names, ", ")));
            m_study.groups.push_back(name);
        }
    }

    /// Takes the settings and axes that the full size replaces.
    void readFullSize(const toml::table* table) {
        readAxes(table, "", settingNamed, [this](const SettingSpec& spec, const toml::node& node) {
            m_study.full.push_back({spec.axisKey(), readValues(spec, node)});
        });
        if (m_study.full.empty())
            return;
        at(*table, [this] {
            Study full = m_study;
            applyFullSize(full);
        });
    }

    void readReference(const toml::node& node) {
        const toml::table* table = node.as_table();
        if (!table)
            fail(node.source(), "reference: expected a table such as { accumulation = 1, threads = 1 }");
        std::vector<std::string_view> names;
        for (const Axis& axis : m_study.axes)
            names.push_back(axis.key);
        for (const auto& [key, entry] : *table) {
            const auto axis = std::ranges::find(m_study.axes, std::string(key.str()), &Axis::key);
            if (axis == m_study.axes.end())
                fail(key.source(), fmt::format("reference names \"{}\", which is no axis of this study{}; "
                                               "axes: {}",
                                               key.str(), didYouMean(key.str(), names),
                                               fmt::join(names, ", ")));
            SettingValue wanted;
            at(entry, [&] { wanted = value(settingOfAxis(axis->key), entry); });
            if (std::ranges::find(axis->values, wanted) == axis->values.end())
                fail(entry.source(),
                     fmt::format("reference {} = {} is not one of the axis's values", axis->key, toText(wanted)));
            std::ranges::find(m_study.reference, axis->key, &Assignment::key)->value = wanted;
        }
    }

    static SettingValue value(const SettingSpec& spec, const toml::node& node) {
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

    template <class Number>
    static SettingValue list(const toml::node& node) {
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

    fs::path m_source;
    Study m_study;
};

std::string tomlText(const SettingValue& value) {
    std::ostringstream out;
    std::visit(
        [&](const auto& v) {
            using Value = std::decay_t<decltype(v)>;
            if constexpr (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::string>) {
                out << toml::value<Value>(v);
            } else if constexpr (!std::is_same_v<Value, std::monostate>) {
                toml::array array;
                for (const auto number : v)
                    array.push_back(number);
                out << array;
            }
        },
        value);
    return out.str();
}

std::string quoted(const std::string& key) {
    return key.find('.') == std::string::npos ? key : fmt::format("\"{}\"", key);
}

} // namespace

std::vector<SettingValue> parseTomlValues(const SettingSpec& spec, std::string_view keyAndValues) {
    return Parser("--set").parseValues(spec, keyAndValues);
}

Study parseStudy(std::string_view text, const fs::path& source) { return Parser(source).parse(text); }

Study readStudy(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw StudyError(fmt::format("{}: cannot be read", file.string()));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return parseStudy(text, file);
}

std::string toToml(const Study& study) {
    std::string out = "[study]\n";
    out += fmt::format("name = {}\n", tomlText(study.name));
    if (!study.description.empty())
        out += fmt::format("description = {}\n", tomlText(study.description));
    if (!study.reference.empty()) {
        std::vector<std::string> pairs;
        for (const auto& [key, value] : study.reference)
            pairs.push_back(fmt::format("{} = {}", quoted(key), tomlText(value)));
        out += fmt::format("reference = {{ {} }}\n", fmt::join(pairs, ", "));
    }
    if (!study.groups.empty())
        out += fmt::format("groups = [{}]\n", fmt::join(study.groups | std::views::transform(tomlText), ", "));
    out += fmt::format("twin = {}\ncontrol = {}\n", tomlText(study.twin), study.control);

    std::string_view section;
    for (const SettingSpec& spec : settingSpecs()) {
        const SettingValue value = spec.get(study.base);
        if (value == spec.get(RunConfig{}) && spec.key != "kind")
            continue;
        if (spec.section != section)
            out += fmt::format("\n[{}]\n", section = spec.section);
        out += fmt::format("{} = {}\n", spec.key, tomlText(value));
    }
    const auto writeAxes = [&out](std::string_view title, const std::vector<Axis>& axes) {
        if (!axes.empty())
            out += fmt::format("\n[{}]\n", title);
        for (const auto& [key, values] : axes) {
            std::vector<std::string> texts;
            for (const SettingValue& value : values)
                texts.push_back(tomlText(value));
            out += fmt::format("{} = [{}]\n", quoted(key), fmt::join(texts, ", "));
        }
    };
    writeAxes("axes", study.axes);
    writeAxes("full", study.full);
    return out;
}

Study loadStudy(const std::string& pathOrName) {
    const fs::path path(pathOrName);
    if (fs::is_directory(path))
        return readStudy(path / "study.toml");
    if (fs::exists(path))
        return readStudy(path);
    std::vector<std::string_view> names;
    for (const BuiltInStudy& study : builtInStudies()) {
        if (study.name == pathOrName)
            return parseStudy(study.toml, fmt::format("{}.toml", study.name));
        names.push_back(study.name);
    }
    throw StudyError(fmt::format("{}: no such file, and no built-in study{}; built-in studies: {}", pathOrName,
                                 didYouMean(pathOrName, names), fmt::join(names, ", ")));
}

} // namespace driftscope
