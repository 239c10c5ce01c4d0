// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ResultsFile.h"

#include "recording/FileDescriptor.h"
#include "recording/Hdf5.h"
#include "recording/Version.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <vector>
#include <unistd.h>

namespace driftscope {
namespace {

namespace fs = std::filesystem;
using hdf5::Handle;

constexpr std::string_view studyFormat = "driftscope.study";
constexpr int studyFormatVersion = 1;
constexpr std::size_t nameBytes = 256;
constexpr std::size_t imageIncrement = 1 << 20; ///< by which a file in memory grows

template <class T>
void write(hid_t group, const char* name, hid_t type, const std::vector<hsize_t>& shape, const T* values) {
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    const Handle dataset = hdf5::checked(
        H5Dcreate2(group, name, type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose, name);
    if (std::ranges::find(shape, hsize_t{0}) == shape.end())
        hdf5::checked(H5Dwrite(dataset.id(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), name);
}

/// "model", "layer fc1", "tensor fc1.weight"
std::string toText(const Scope& scope) {
    switch (scope.kind) {
    case ScopeKind::Model: return "model";
    case ScopeKind::Layer: return "layer " + scope.name;
    case ScopeKind::Tensor: break;
    }
    return "tensor " + scope.name;
}

Scope scopeFromText(const std::string& text) {
    if (text.starts_with("layer "))
        return {ScopeKind::Layer, text.substr(6)};
    if (text.starts_with("tensor "))
        return {ScopeKind::Tensor, text.substr(7)};
    return {ScopeKind::Model, ""};
}

void writeComparison(hid_t group, const RunComparison& comparison) {
    const hsize_t rows = comparison.rows(), scopes = comparison.scopes.size();
    write(group, "step", H5T_NATIVE_INT64, {rows}, comparison.steps.data());

    std::string names(scopes * nameBytes, '\0');
    for (std::size_t i = 0; i < scopes; ++i)
        toText(comparison.scopes[i]).copy(names.data() + i * nameBytes, nameBytes - 1);
    const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text.id(), nameBytes);
    H5Tset_cset(text.id(), H5T_CSET_UTF8);
    write(group, "scope", text.id(), {scopes}, names.data());

    for (const MetricInfo& info : metrics())
        write(group, std::string(info.key).c_str(), H5T_NATIVE_DOUBLE, {rows, scopes},
              comparison.values[static_cast<std::size_t>(info.metric)].data());
    write(group, "ulp_histogram", H5T_NATIVE_UINT64, {rows, ulpBinCount}, comparison.ulpHistograms.data());
    if (comparison.first) {
        hdf5::writeAttribute(group, "first_step", comparison.first->step);
        hdf5::writeAttribute(group, "first_phase", comparison.first->phase);
        hdf5::writeAttribute(group, "first_tensor", comparison.first->tensor);
        hdf5::writeAttribute(group, "first_after_step", comparison.first->after);
    }
}

std::vector<Scope> readScopes(hid_t file, const std::string& path) {
    const Handle dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    const std::vector<hsize_t> shape = dataset ? hdf5::shapeOf(dataset.id()) : std::vector<hsize_t>{};
    const Handle type(H5Dget_type(dataset.id()), H5Tclose);
    if (shape.size() != 1 || shape[0] > 100000 || H5Tget_size(type.id()) != nameBytes)
        throw RecordingError(path);
    std::string names(shape[0] * nameBytes, '\0');
    hdf5::checked(H5Dread(dataset.id(), type.id(), H5S_ALL, H5S_ALL, H5P_DEFAULT, names.data()), path);
    std::vector<Scope> scopes;
    for (std::size_t i = 0; i < shape[0]; ++i)
        scopes.push_back(scopeFromText(std::string(names.data() + i * nameBytes)));
    return scopes;
}

/// Throws RecordingError, which names `path`, if there is none or it is not one integer.
std::int64_t readInteger(hid_t group, const char* name, const std::string& path) {
    const Handle attribute = hdf5::checked(H5Aopen(group, name, H5P_DEFAULT), H5Aclose, path);
    const Handle space(H5Aget_space(attribute.id()), H5Sclose);
    if (H5Sget_simple_extent_npoints(space.id()) != 1)
        throw RecordingError(path);
    std::int64_t value = 0;
    hdf5::checked(H5Aread(attribute.id(), H5T_NATIVE_INT64, &value), path);
    return value;
}

/// Throws RecordingError if anything is not as writeComparison leaves it.
CachedComparison readComparison(hid_t file, const std::string& path) {
    CachedComparison cached;
    RunComparison comparison;
    const Handle group = hdf5::checked(H5Gopen2(file, path.c_str(), H5P_DEFAULT), H5Gclose, path);
    cached.runId = hdf5::readTextAttribute(group.id(), "run_id");
    cached.referenceRunId = hdf5::readTextAttribute(group.id(), "reference_run_id");
    if (!hdf5::hasLocal(file, path + "/step"))
        throw RecordingError(path);
    comparison.steps = hdf5::readAll<std::int64_t>(file, path + "/step");
    comparison.scopes = readScopes(file, path + "/scope");
    if (comparison.scopes.empty() || comparison.scopes.front().kind != ScopeKind::Model)
        throw RecordingError(path);
    const std::size_t rows = comparison.steps.size();
    for (const MetricInfo& info : metrics()) {
        auto& values = comparison.values[static_cast<std::size_t>(info.metric)];
        values = hdf5::readAll<double>(file, fmt::format("{}/{}", path, info.key));
        if (values.size() != rows * comparison.scopes.size())
            throw RecordingError(path);
    }
    const auto histogram = hdf5::readAll<std::uint64_t>(file, path + "/ulp_histogram");
    if (histogram.size() != rows * ulpBinCount)
        throw RecordingError(path);
    comparison.ulpHistograms.resize(rows);
    for (std::size_t i = 0; i < histogram.size(); ++i)
        comparison.ulpHistograms[i / ulpBinCount][i % ulpBinCount] = histogram[i];
    if (H5Aexists(group.id(), "first_step") > 0) {
        FirstDivergence first;
        first.step = readInteger(group.id(), "first_step", path);
        first.phase = hdf5::readTextAttribute(group.id(), "first_phase");
        first.tensor = hdf5::readTextAttribute(group.id(), "first_tensor");
        first.after = readInteger(group.id(), "first_after_step", path);
        comparison.first = first;
    }
    cached.comparison = std::make_shared<const RunComparison>(std::move(comparison));
    return cached;
}

} // namespace

std::map<std::string, CachedComparison> readResultsFile(const fs::path& path) {
    std::map<std::string, CachedComparison> results;
    if (!fs::exists(path))
        return results;
    const auto held = hdf5::lock();
    try {
        const Handle file = hdf5::openReadOnly(path);
        // another version of the program may have measured otherwise
        if (hdf5::readTextAttribute(file.id(), "format") != studyFormat ||
            hdf5::readTextAttribute(file.id(), "generator") != generatorName())
            return results;
        for (const std::string& run : hdf5::childrenOf(file.id(), "/results"))
            if (hdf5::hasLocal(file.id(), "/results/" + run + "/step"))
                results.emplace(run, readComparison(file.id(), "/results/" + run));
    } catch (const RecordingError&) { // a damaged cache is no cache
        results.clear();
    }
    return results;
}

namespace {

/// Made in memory: HDF5 1.10 crashes when it closes a file that a full disk has cut short.
std::vector<std::byte> imageOf(const fs::path& path, const StudyResults& results) {
    const auto held = hdf5::lock();
    const Handle inMemory(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    hdf5::checked(H5Pset_fapl_core(inMemory.id(), imageIncrement, false), "study.h5");
    const Handle file = hdf5::checked(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, inMemory.id()), H5Fclose,
                                      fmt::format("{}: cannot be made", path.string()));
    hdf5::writeAttribute(file.id(), "format", studyFormat);
    hdf5::writeAttribute(file.id(), "format_version", studyFormatVersion);
    hdf5::writeAttribute(file.id(), "generator", generatorName());
    hdf5::writeText(file.id(), "/study", toToml(results.folder.study));
    const Handle links = hdf5::createGroup(file.id(), "/runs");
    const Handle all = hdf5::createGroup(file.id(), "/results");
    for (const RunResult& run : results.runs) {
        // relative, so that the folder can be moved
        hdf5::checked(H5Lcreate_external(fmt::format("runs/{}.h5", run.config.id).c_str(), "/", links.id(),
                                         run.config.id.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                      run.config.id);
        const Handle group = hdf5::createGroup(file.id(), "/results/" + run.config.id);
        hdf5::writeAttribute(group.id(), "label", label(run.config));
        hdf5::writeAttribute(group.id(), "state", run.state ? nameOf(*run.state) : "not run");
        hdf5::writeAttribute(group.id(), "message", run.message);
        hdf5::writeAttribute(group.id(), "verdict", run.verdict.kind);
        std::string evidence;
        for (const Evidence& each : run.verdict.evidence)
            evidence += (evidence.empty() ? "" : "\n") + each.text;
        hdf5::writeAttribute(group.id(), "summary", run.verdict.summary);
        hdf5::writeAttribute(group.id(), "evidence", evidence);
        hdf5::writeAttribute(group.id(), "run_id", run.runId);
        if (!run.comparison)
            continue;
        const RunResult& reference = results.runs[*run.reference];
        hdf5::writeAttribute(group.id(), "reference", reference.config.id);
        hdf5::writeAttribute(group.id(), "reference_run_id", reference.runId);
        writeComparison(group.id(), *run.comparison);
    }
    hdf5::checked(H5Fflush(file.id(), H5F_SCOPE_GLOBAL), path.string());
    const ssize_t bytes = H5Fget_file_image(file.id(), nullptr, 0);
    std::vector<std::byte> image(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    if (bytes <= 0 || H5Fget_file_image(file.id(), image.data(), image.size()) != bytes)
        throw RecordingError(fmt::format("{}: cannot be made", path.string()));
    return image;
}

} // namespace

void writeResultsFile(const fs::path& path, const StudyResults& results) {
    const std::vector<std::byte> image = imageOf(path, results);
    const fs::path temporary = path.string() + ".new";
    std::error_code error;
    fs::remove(temporary, error);
    try {
        const FileDescriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
        file.writeAt(0, image);
        if (::fsync(file.fd()) != 0)
            throw RecordingError(fmt::format("cannot be synced to the disk: {}", std::strerror(errno)));
        fs::rename(temporary, path);
    } catch (const std::exception& problem) {
        fs::remove(temporary, error);
        throw RecordingError(fmt::format("{}: the results cannot be saved: {}", path.string(), problem.what()));
    }
}

} // namespace driftscope
