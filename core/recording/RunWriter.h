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
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// A dataset beside the usual ones: optimizer state, activations, ReLU signs, recorded metrics.
struct ExtraDataset {
    std::string path; ///< "/optimizer/fc1.weight/exp_avg"
    DType dtype = DType::Float32;
    std::vector<std::uint64_t> shape; ///< of a row
    std::vector<std::int64_t> steps;  ///< that have a row, an attribute of the dataset; empty: every recorded step
    std::uint64_t units = 0;          ///< packed bits that count, an attribute likewise; 0: no bits
};

/// What a run file will hold.
struct RunSchema {
    RunConfig config;
    std::string environment;          ///< JSON object
    std::vector<std::int64_t> steps;  ///< step of every row; the first is 0, the state after initialisation
    std::vector<TensorInfo> parameters;
    std::vector<ExtraDataset> extras{};
    std::string comparedWith{};       ///< weights = "metrics": run_id of the reference
};

/// A tensor as whoever computed it left it, kept alive instead of copied.
struct TensorValues {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner; ///< may be none for what outlives the writer
    std::function<void()> wait{};      ///< until the bytes are there: a GPU's copy may still be under way

    /// The bytes, once they are there.
    [[nodiscard]] std::span<const std::byte> arrived() const {
        if (wait)
            wait();
        return bytes;
    }
};

/// One row on its way to the file.
struct RunRow {
    std::vector<TensorValues> weights;   ///< one per parameter; kept as [record] weights says
    std::vector<TensorValues> gradients; ///< one per parameter, or none at all: then the digests are zeros and the
                                         ///< values NaN
    std::array<double, ScalarCount> scalars = noScalars(); ///< NaN where a step has none (step 0)
    std::vector<std::int64_t> sampleIds; ///< at most one per sample of a batch; −1 is written behind them
    Digest batchDigest{};
    std::vector<std::pair<std::size_t, TensorValues>> extras; ///< position in RunSchema::extras, values

private:
    static constexpr std::array<double, ScalarCount> noScalars() {
        std::array<double, ScalarCount> none{};
        none.fill(std::numeric_limits<double>::quiet_NaN());
        return none;
    }
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

    /// Hands a row to the writer thread; waits while several rows are on their way. The values must not change
    /// until release(), gradients not at all. Throws RecordingError if an earlier row could not be written.
    void append(RunRow row);

    /// After this the values handed over may change: what is not written yet has been copied, by the writer
    /// thread where it got that far, else by the caller. Throws RecordingError likewise.
    void release();

    /// Waits until every row handed over is in the file. Throws RecordingError if one could not be written.
    void waitUntilWritten();

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

/// What the values of all rows take; the file is a little larger.
std::uint64_t valueBytes(const RunSchema& schema);

/// Positions of the elements that weights = "sample" keeps of a tensor, rising; the same for every run.
std::vector<std::uint64_t> sampledElements(const TensorInfo& tensor, std::int64_t sampleSize);

/// Elements of each tensor that gradients = "sample" keeps: enough for its size, direction and factor to a few
/// percent, and little beside the weights.
constexpr std::int64_t gradientSampleSize = 256;

/// The elements of a tensor at these positions, one behind the other. size: of an element, in bytes.
std::vector<std::byte> gathered(std::span<const std::byte> values, std::span<const std::uint64_t> index,
                                std::size_t size);

} // namespace driftscope
