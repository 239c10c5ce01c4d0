// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/HtmlParts.h"
#include "analysis/Markup.h"
#include "analysis/ViewData.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace driftscope {
namespace {

using Json = nlohmann::ordered_json;
using Fields = std::vector<std::pair<std::string, std::string>>; ///< path and value

constexpr std::size_t longestValue = 160; ///< in bytes; longer ones are folded away
constexpr int deepest = 16;               ///< of files by others: no nesting can exhaust the stack

std::string valueText(const Json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void flatten(const Json& value, const std::string& path, int depth, Fields& out) {
    const bool isNested = value.is_object() || (value.is_array() && !value.empty() && value.front().is_structured());
    if (!isNested) {
        const bool isTooDeep = value.is_array() && std::ranges::any_of(value, [](const Json& v) { return v.is_structured(); });
        out.emplace_back(path, isTooDeep ? "…" : valueText(value));
    } else if (depth == deepest) {
        out.emplace_back(path, "…");
    } else {
        for (const auto& [key, part] : value.items())
            flatten(part, path.empty() ? key : path + "." + key, depth + 1, out);
    }
}

struct RunFields {
    std::string name;
    Fields fields;

    [[nodiscard]] std::string valueOf(const std::string& path) const {
        const auto found = std::ranges::find(fields, path, &Fields::value_type::first);
        return found == fields.end() ? "not recorded" : found->second;
    }
};

/// Of the runs that have recorded any. Twins are left out: they say the same as their runs.
std::vector<RunFields> environments(const StudyResults& results) {
    std::vector<RunFields> all;
    for (const RunResult& run : results.runs) {
        const Json environment = Json::parse(run.environment, nullptr, false);
        if (run.config.isTwin || !environment.is_object() || environment.empty())
            continue;
        RunFields fields{runTitle(run), {}};
        flatten(environment, "", 0, fields.fields);
        all.push_back(std::move(fields));
    }
    return all;
}

std::vector<std::string> pathsOf(const std::vector<RunFields>& environments) {
    std::vector<std::string> paths;
    for (const RunFields& environment : environments)
        for (const auto& [path, value] : environment.fields)
            if (std::ranges::find(paths, path) == paths.end())
                paths.push_back(path);
    return paths;
}

/// A long value folded behind its beginning.
std::string valueCell(const std::string& value) {
    if (value.size() <= longestValue)
        return escaped(value);
    std::size_t end = longestValue / 2;
    while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80)
        --end;
    return fmt::format("<details><summary>{}…</summary>{}</details>", escaped(value.substr(0, end)), escaped(value));
}

} // namespace

std::string htmlEnvironment(const StudyResults& results) {
    const std::vector<RunFields> all = environments(results);
    std::vector<std::vector<std::string>> same, different;
    for (const std::string& path : pathsOf(all)) {
        std::vector<std::pair<std::string, std::vector<std::string>>> values; ///< and the runs that have them
        for (const RunFields& environment : all) {
            const std::string value = environment.valueOf(path);
            const auto found = std::ranges::find(values, value, [](const auto& entry) { return entry.first; });
            if (found == values.end())
                values.push_back({value, {environment.name}});
            else
                found->second.push_back(environment.name);
        }
        if (values.size() == 1)
            same.push_back({escaped(path), valueCell(values.front().first)});
        else
            for (const auto& [value, runs] : values)
                different.push_back({escaped(path), valueCell(value), escaped(fmt::format("{}", fmt::join(runs, ", ")))});
    }
    if (all.empty())
        return "";
    std::string out = "<h2>Environment</h2>\n";
    if (different.empty())
        out += all.size() > 1 ? "<p>The same for every run.</p>\n" : "";
    else
        out += "<p>What differs between the runs:</p>\n" + htmlTable({"field", "value", "runs"}, different);
    if (!same.empty())
        out += fmt::format("<details{}><summary>The same for all runs</summary>\n{}</details>\n",
                           different.empty() ? " open=\"open\"" : "", htmlTable({"field", "value"}, same));
    return out;
}

} // namespace driftscope
