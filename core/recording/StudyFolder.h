// SPDX-License-Identifier: GPL-3.0-or-later
// A study on the disk: study.toml, runs/<id>.h5 with runs/<id>.log, and study.h5 with the results.
#pragma once

#include "study/Study.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace driftscope {

struct StudyFolder {
    std::filesystem::path path;
    Study study;
    std::vector<RunConfig> runs; ///< expand(study)

    [[nodiscard]] std::filesystem::path runFile(const RunConfig& run) const;
    [[nodiscard]] std::filesystem::path logFile(const RunConfig& run) const;
    [[nodiscard]] std::filesystem::path resultsFile() const;

    /// Position in `runs` of the run that this one is compared with: the reference, or its twin.
    /// None for the reference itself.
    [[nodiscard]] std::optional<std::size_t> referenceOf(std::size_t run) const;

    /// Positions of the runs that have not finished: never begun, failed, cancelled, unavailable.
    [[nodiscard]] std::vector<std::size_t> unfinishedRuns() const;
    /// Removes what these runs have left, so that they can be run again. Throws RecordingError, with
    /// nothing removed, if a process is recording one of them.
    void clearRuns(const std::vector<std::size_t>& positions) const;
};

/// Throws RecordingError if there is something, other than an empty folder.
void requireNewFolder(const std::filesystem::path& path);

/// Writes the study into a new folder. Throws RecordingError if the folder exists and isn't empty, and
/// StudyError if a run's data is not there; then nothing has been created.
StudyFolder createStudyFolder(const std::filesystem::path& path, const Study& study);

/// The same study with a float64 twin of every run, its study.toml written anew. Throws StudyError or RecordingError.
StudyFolder withTwins(StudyFolder folder);

/// Throws StudyError or RecordingError.
StudyFolder openStudyFolder(const std::filesystem::path& path);

} // namespace driftscope
