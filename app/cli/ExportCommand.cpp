// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "analysis/StudyResults.h"
#include "analysis/ViewData.h"
#include "execution/RunManager.h"
#include "recording/HalfPrecision.h"
#include "recording/RunReader.h"
#include "recording/RunWriter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

namespace driftscope::cli {
namespace {

std::string cell(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

/// A line per run, scope and step; a column per metric.
std::string studyCsv(const StudyResults& results) {
    std::string out = "run,label,scope,name,step";
    for (const MetricInfo& info : metrics())
        out += fmt::format(",{}", info.key);
    out += '\n';
    static constexpr std::string_view kinds[] = {"model", "layer", "tensor"};
    for (const RunResult& run : results.runs) {
        if (!run.comparison)
            continue;
        for (std::size_t scope = 0; scope < run.comparison->scopes.size(); ++scope)
            for (std::size_t row = 0; row < run.comparison->rows(); ++row) {
                const Scope& about = run.comparison->scopes[scope];
                out += fmt::format("{},{},{},{},{}", csvQuoted(run.config.id), csvQuoted(label(run.config)),
                                   kinds[static_cast<std::size_t>(about.kind)], csvQuoted(about.name),
                                   run.comparison->steps[row]);
                for (const MetricInfo& info : metrics())
                    out += fmt::format(",{}", cell(run.comparison->value(info.metric, row, scope)));
                out += '\n';
            }
    }
    return out;
}

/// A line per step with the scalars.
std::string scalarsCsv(const RunReader& reader) {
    std::string out = "step";
    std::vector<std::vector<double>> columns;
    for (std::size_t i = 0; i < ScalarCount; ++i) {
        out += fmt::format(",{}", scalarNames[i]);
        columns.push_back(reader.scalar(static_cast<Scalar>(i)));
    }
    out += '\n';
    const auto rows = static_cast<std::size_t>(reader.progress().rows);
    for (std::size_t row = 0; row < rows; ++row) {
        out += fmt::to_string(reader.steps()[row]);
        for (const auto& column : columns)
            out += fmt::format(",{}", row < column.size() ? cell(column[row]) : "");
        out += '\n';
    }
    return out;
}

/// A line per step with the values of one tensor, each with the digits that give its bits back.
std::string tensorCsv(const RunReader& reader, const std::string& name) {
    const auto parameters = reader.parameters();
    const auto found = std::ranges::find(parameters, name, &TensorInfo::name);
    if (found == parameters.end()) {
        std::vector<std::string_view> names;
        for (const TensorInfo& tensor : parameters)
            names.push_back(tensor.name);
        throw UsageError(fmt::format("{}: no tensor \"{}\"{}", reader.file().string(), name, didYouMean(name, names)));
    }
    std::string out = "step";
    if (reader.weightsLevel() == WeightsLevel::Sample && reader.config()) {
        for (const std::uint64_t i : sampledElements(*found, reader.config()->record.sampleSize))
            out += fmt::format(",{}", i);
    } else {
        for (std::uint64_t i = 0; i < found->elements(); ++i)
            out += fmt::format(",{}", i);
    }
    out += '\n';
    for (std::size_t row = 0; row < static_cast<std::size_t>(reader.progress().rows); ++row) {
        const TensorRow values = reader.weights(static_cast<std::size_t>(found - parameters.begin()), row);
        out += fmt::to_string(reader.steps()[row]);
        const auto append = [&](const auto& numbers) {
            for (const auto value : numbers)
                fmt::format_to(std::back_inserter(out), ",{}", value);
        };
        if (values.dtype() == DType::Float32)
            append(values.values<float>());
        else if (values.dtype() == DType::Float64)
            append(values.values<double>());
        else
            append(widened(values.bytes(), values.dtype()));
        out += '\n';
    }
    return out;
}

} // namespace

void addExport(CLI::App& app, int&) {
    struct Options {
        std::string file, output, tensor;
    };
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("export", "Numbers as CSV: a study's divergences, or a run's scalars or weights");
    command->add_option("FILE", options->file, "Study folder or run file")->required();
    command->add_option("-o,--output", options->output, "CSV file to write")->required();
    command->add_option("--tensor", options->tensor, "Of a run file: the values of this tensor, a line per step");
    command->callback([options] {
        const bool isStudy = std::filesystem::is_directory(options->file);
        if (isStudy && !options->tensor.empty())
            throw UsageError("--tensor is for run files: give one of the study's runs/*.h5");
        std::string csv;
        if (isStudy) {
            csv = studyCsv(loadResults(openStudyFolder(options->file), availableCores()));
        } else {
            const RunReader reader(options->file);
            csv = options->tensor.empty() ? scalarsCsv(reader) : tensorCsv(reader, options->tensor);
        }
        writeFile(options->output, csv);
    });
}

} // namespace driftscope::cli
