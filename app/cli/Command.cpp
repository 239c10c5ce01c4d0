// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace driftscope::cli {

Json number(double value) {
    if (std::isfinite(value))
        return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json verdictJson(const Verdict& verdict) {
    Json evidence = Json::array();
    for (const Evidence& each : verdict.evidence)
        evidence.push_back({{"name", each.name},
                            {"text", each.text},
                            {"says", each.says},
                            {"value", number(each.value)},
                            {"threshold", number(each.threshold)}});
    return {{"kind", verdict.kind}, {"summary", verdict.summary}, {"evidence", evidence}};
}

void printVerdict(const Verdict& verdict) {
    fmt::print("  {}\n", verdict.summary);
    for (const Evidence& evidence : verdict.evidence)
        fmt::print("  - {}\n", evidence.text);
}

Json firstDivergenceJson(const std::optional<FirstDivergence>& first) {
    if (!first)
        return nullptr;
    return {{"step", first->step},
            {"phase", first->phase},
            {"tensor", first->tensor},
            {"after_step", first->after < 0 ? Json(nullptr) : Json(first->after)}};
}

void print(const Json& json) { fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace)); }

namespace {

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

} // namespace

void printTable(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], characters(row[i]));
    }
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i)
            line += row[i] + (i + 1 < row.size() ? std::string(widths[i] - characters(row[i]) + 2, ' ') : "");
        line.erase(line.find_last_not_of(' ') + 1);
        fmt::print("{}\n", line);
    }
}

void writeFile(const std::string& path, std::string_view content) {
    const std::string temporary = path + ".new";
    std::ofstream out(temporary, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    std::error_code error;
    if (out)
        std::filesystem::rename(temporary, path, error);
    if (!out || error) {
        std::filesystem::remove(temporary, error);
        throw UsageError(fmt::format("{}: cannot be written", path));
    }
}

} // namespace driftscope::cli
