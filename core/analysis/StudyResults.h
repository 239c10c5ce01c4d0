// SPDX-License-Identifier: GPL-3.0-or-later
// Everything known of a study's runs: state, divergence from the reference, verdict. Cached in study.h5.
#pragma once

#include "analysis/Growth.h"
#include "analysis/RecordedEvidence.h"
#include "analysis/RunComparison.h"
#include "analysis/Verdict.h"
#include "recording/StudyFolder.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

struct RunResult {
    RunConfig config;
    bool isConfigured = true;      ///< false: a foreign file, whose settings are not known
    std::optional<RunState> state; ///< none: not run yet
    std::string message;
    std::string runId;
    std::int64_t rows = 0;
    std::int64_t totalRows = 0;
    std::string environment = "{}";
    std::vector<std::int64_t> steps;  ///< of the rows written
    std::array<std::vector<double>, ScalarCount> scalars; ///< each per row, NaN at step 0; empty: not recorded
    std::optional<std::size_t> reference;     ///< position of the run it is compared with
    /// None: the reference itself, or nothing to compare yet. Copies of the results share it: new rows
    /// make a new one.
    std::shared_ptr<const RunComparison> comparison;
    /// What else the two recordings show; none likewise.
    std::shared_ptr<const RecordedEvidence> recorded;
    DType dtype = DType::Float32;  ///< of the weights
    std::optional<Growth> growth;  ///< of the model's relative L2 distance; none: too few rows that differ
    std::string comparisonProblem;            ///< why there is none although both have rows
    Verdict verdict;
};

struct StudyResults {
    StudyFolder folder;
    std::vector<RunResult> runs; ///< as StudyFolder::runs
};

/// Reads every run and compares it with its reference, from study.h5 where that is up to date.
/// `threads` compare at once. Does not write. Throws StudyError or RecordingError.
StudyResults loadResults(const StudyFolder& folder, int threads = 1, std::stop_token stop = {});

/// Writes study.h5 (to a temporary name, synced, renamed). Throws RecordingError.
void saveResults(const StudyResults& results);

/// A study "folder" for run files opened by themselves: the first file is the reference of the others.
/// Throws RecordingError.
StudyResults loadRunFiles(const std::vector<std::filesystem::path>& files, int threads = 1);

/// Keeps results up to date while runs are being recorded: only new rows are read and compared.
/// One thread at a time.
class LiveResults {
public:
    explicit LiveResults(StudyFolder folder);
    explicit LiveResults(std::vector<std::filesystem::path> runFiles);
    ~LiveResults();
    LiveResults(LiveResults&&) noexcept;
    LiveResults& operator=(LiveResults&&) noexcept;

    /// True if anything changed. A stop request ends it early.
    bool update(int threads = 1, std::stop_token stop = {});
    [[nodiscard]] const StudyResults& results() const;

    /// Compares with another run from now on; all comparisons are made anew.
    void setReference(std::size_t run);

private:
    struct Implementation;
    std::unique_ptr<Implementation> m;
};

} // namespace driftscope
