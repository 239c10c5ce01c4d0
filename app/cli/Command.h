// SPDX-License-Identifier: GPL-3.0-or-later
// What the subcommands share: registration, exit codes, JSON numbers, tables.
#pragma once

#include "analysis/RunComparison.h"
#include "analysis/Verdict.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope::cli {

enum ExitCode { Done = 0, Differs = 1, BadInput = 2, RunsMissing = 3, Interrupted = 130 };

using Json = nlohmann::ordered_json;

/// Bad input that no other layer has named.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Each adds its subcommand; when it is chosen, its work sets exitCode.
void addRun(CLI::App& app, int& exitCode);
void addReport(CLI::App& app, int& exitCode);
void addDiff(CLI::App& app, int& exitCode);
void addCure(CLI::App& app, int& exitCode);
void addExplain(CLI::App& app, int& exitCode);
void addInfo(CLI::App& app, int& exitCode);
void addExport(CLI::App& app, int& exitCode);
void addDoctor(CLI::App& app, int& exitCode);
void addWorker(CLI::App& app);

/// JSON has no infinities and no NaN: they become the strings "inf", "-inf" and "nan".
Json number(double value);

/// {"step", "phase", "tensor", "after_step": last recorded step before it, or null}, or null.
Json firstDivergenceJson(const std::optional<FirstDivergence>& first);

/// {"kind", "summary", "evidence": [{"name", "text", "says", "value", "threshold"}]}
Json verdictJson(const Verdict& verdict);
/// The summary and a line for each measurement, indented.
void printVerdict(const Verdict& verdict);

void print(const Json& json);

/// Left-aligned columns with two spaces between, widths counted in characters.
void printTable(const std::vector<std::vector<std::string>>& rows);

/// Replaces the file in one step, so that a failure leaves nothing half-written; a device or a pipe is written to.
/// Throws UsageError.
void writeFile(const std::string& path, std::string_view content);

} // namespace driftscope::cli
