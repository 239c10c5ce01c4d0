// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/StudyFolder.h"

#include "recording/FileDescriptor.h"
#include "recording/RunFile.h"
#include "recording/RunReader.h"
#include "study/DataFiles.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <fstream>

namespace driftscope {

namespace fs = std::filesystem;

fs::path StudyFolder::runFile(const RunConfig& run) const { return path / "runs" / (run.id + ".h5"); }
fs::path StudyFolder::logFile(const RunConfig& run) const { return path / "runs" / (run.id + ".log"); }
fs::path StudyFolder::resultsFile() const { return path / "study.h5"; }

std::optional<std::size_t> StudyFolder::referenceOf(std::size_t run) const {
    const bool isTwin = runs.at(run).isTwin;
    std::optional<std::size_t> plain;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs[i].isReference || groupOf(study, runs[i]) != groupOf(study, runs[run]))
            continue;
        if (runs[i].isTwin == isTwin)
            return i == run ? std::nullopt : std::optional(i);
        plain = i;
    }
    return plain; // a twin whose reference is float64 itself is compared with that
}

std::vector<std::size_t> StudyFolder::unfinishedRuns() const {
    std::vector<std::size_t> unfinished;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        try {
            if (RunReader(runFile(runs[i])).progress().state == RunState::Finished)
                continue;
        } catch (const RecordingError&) { // missing or damaged: to be run again
        }
        unfinished.push_back(i);
    }
    return unfinished;
}

void StudyFolder::clearRuns(const std::vector<std::size_t>& positions) const {
    for (const std::size_t run : positions)
        if (const fs::path file = runFile(runs[run]); fs::exists(file) && FileDescriptor(file, O_RDONLY).isInUse())
            throw RecordingError(fmt::format("{}: is being recorded by another process", file.string()));
    std::error_code ignored;
    for (const std::size_t run : positions)
        for (const fs::path& file :
             {runFile(runs[run]), logFile(runs[run]), logFile(runs[run]).replace_extension(".reference.log")})
            fs::remove(file, ignored);
}

namespace {

/// study.toml, whole or not at all.
void writeStudyFile(const fs::path& folder, const Study& study) {
    const fs::path file = folder / "study.toml";
    const fs::path temporary = folder / "study.toml.new";
    std::ofstream out(temporary, std::ios::binary);
    out << toToml(study);
    out.close();
    if (!out)
        throw RecordingError(fmt::format("{}: cannot be written", file.string()));
    fs::rename(temporary, file);
}

} // namespace

void requireNewFolder(const fs::path& path) {
    std::error_code error;
    if (fs::exists(path, error) && (!fs::is_directory(path, error) || !fs::is_empty(path, error)))
        throw RecordingError(fmt::format("{}: exists already; give a new name with -o", path.string()));
}

StudyFolder createStudyFolder(const fs::path& path, const Study& study) {
    std::vector<RunConfig> runs = expand(study);
    for (const RunConfig& run : runs) {
        requireDataFiles(run.data);
        requireModelFile(run.model);
    }
    requireNewFolder(path);
    std::error_code error;
    fs::create_directories(path / "runs", error);
    if (error)
        throw RecordingError(fmt::format("{}: cannot be created: {}", path.string(), error.message()));

    writeStudyFile(path, study);
    return {path, study, std::move(runs)};
}

StudyFolder withTwins(StudyFolder folder) {
    folder.study.twin = "float64";
    folder.runs = expand(folder.study);
    writeStudyFile(folder.path, folder.study);
    return folder;
}

StudyFolder openStudyFolder(const fs::path& path) {
    if (!fs::is_directory(path))
        throw RecordingError(fmt::format("{}: no such study folder", path.string()));
    if (!fs::exists(path / "study.toml"))
        throw RecordingError(fmt::format("{}: not a study folder: it has no study.toml", path.string()));
    Study study = readStudy(path / "study.toml");
    std::vector<RunConfig> runs = expand(study);
    return {path, std::move(study), std::move(runs)};
}

} // namespace driftscope
