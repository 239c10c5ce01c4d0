// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a run file that is valid at every moment: all metadata first, closed by HDF5, then raw rows
// by pwrite from a thread of its own, each row before the /progress that claims it.
#pragma once

#include "recording/Digest.h"
#include "recording/RunFile.h"
#include "recording/TensorInfo.h"
#include "study/RunConfig.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// What a run file will hold.
struct RunSchema {
    RunConfig config;
    std::string environment;          ///< JSON object
    std::vector<std::int64_t> steps;  ///< step of every row; the first is 0, the state after initialisation
    std::vector<TensorInfo> parameters;
};

/// A gradient as whoever computed it left it, kept alive instead of copied: it must not change any more.
struct GradientValues {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
};

/// One row on its way to the file.
class RunRow {
public:
    /// Where to copy a parameter's values to.
    std::span<std::byte> weights(std::size_t parameter);

    /// One per parameter, or none at all: then the digests are zeros and the values NaN.
    std::vector<GradientValues> gradients;
    std::array<double, ScalarCount> scalars{}; ///< NaN where a step has none (step 0)
    std::vector<std::int64_t> sampleIds;       ///< −1 behind an incomplete last batch
    Digest batchDigest{};

private:
    friend class RunWriter;
    std::shared_ptr<const std::vector<std::size_t>> m_offsets;
    std::vector<std::byte> m_weights; ///< one tensor behind the other
};

class RunWriter {
public:
    /// Creates `file` (it must not exist) with all its metadata and reserves its space on the disk.
    /// Throws RecordingError; then there is no file.
    RunWriter(const std::filesystem::path& file, const RunSchema& schema);

    /// Without a finish() before, the run counts as failed.
    ~RunWriter();
    RunWriter(const RunWriter&) = delete;
    RunWriter& operator=(const RunWriter&) = delete;

    /// An empty row to fill; waits while all row buffers are on their way to the disk.
    /// Throws RecordingError if an earlier row could not be written.
    std::unique_ptr<RunRow> nextRow();

    /// Hands a filled row to the writer thread.
    void append(std::unique_ptr<RunRow> row);

    /// Waits for all rows, then sets the state and the message. Throws RecordingError.
    void finish(RunState state, std::string_view message = {});

private:
    struct Implementation;
    std::unique_ptr<Implementation> m;
};

/// Sets state and message of a run whose process can't any more, or makes a file with no rows that
/// says why a run has none. Throws RecordingError.
void recordOutcome(const std::filesystem::path& file, const RunConfig& config, RunState state,
                   std::string_view message);

} // namespace driftscope
