// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a run file, ours or a foreign one, also while it is being written. Rows of contiguous datasets
// are mapped, others read through HDF5. Safe to use from several threads.
#pragma once

#include "recording/Digest.h"
#include "recording/RunFile.h"
#include "recording/TensorInfo.h"
#include "study/RunConfig.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

class FileDescriptor;

/// The values of one tensor at one row. Borrows from the reader, unless it had to be read.
class TensorRow {
public:
    TensorRow(DType type, std::span<const std::byte> values) : m_type(type), m_bytes(values) {}
    /// Mapped; they lie at `offset` of `file`.
    TensorRow(DType type, std::span<const std::byte> mapped, const FileDescriptor& file, std::uint64_t offset)
        : m_type(type), m_bytes(mapped), m_file(&file), m_offset(offset) {}
    TensorRow(DType type, std::vector<std::byte> read);

    [[nodiscard]] DType dtype() const { return m_type; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return m_bytes; }
    [[nodiscard]] std::size_t elements() const { return m_bytes.size() / sizeBytes(m_type); }
    /// `count` elements from `first` on, to be passed over once: those of a mapped file are read into `buffer`, which
    /// was measured to take a quarter of the time of touching its pages. Throws RecordingError.
    [[nodiscard]] TensorRow part(std::size_t first, std::size_t count, std::vector<std::byte>& buffer) const;
    /// T must be dtype's type.
    template <class T>
    [[nodiscard]] std::span<const T> values() const {
        return {reinterpret_cast<const T*>(m_bytes.data()), m_bytes.size() / sizeof(T)};
    }

private:
    DType m_type;
    std::shared_ptr<const std::vector<std::byte>> m_owned;
    std::span<const std::byte> m_bytes;
    const FileDescriptor* m_file = nullptr; ///< none: not mapped
    std::uint64_t m_offset = 0;
};

/// What a file keeps of the weights beside their digests.
enum class WeightsLevel { Full, Sample, DigestOnly };

/// Digests of the default generator's state around a step's passes: where they differ, the network drew from it.
struct RandomState {
    Digest beforeForward{}, afterBackward{};
};

class RunReader {
public:
    /// Throws RecordingError, which names the file, if it is no run file: no HDF5, neither /weights nor
    /// their digests, or sizes that contradict each other.
    explicit RunReader(const std::filesystem::path& file);
    ~RunReader();
    RunReader(RunReader&&) noexcept;
    RunReader& operator=(RunReader&&) noexcept;

    [[nodiscard]] const std::filesystem::path& file() const;
    [[nodiscard]] const std::string& runId() const;            ///< "" in files of others
    [[nodiscard]] const std::string& created() const;          ///< ISO 8601, or ""
    [[nodiscard]] const std::string& generator() const;
    [[nodiscard]] const std::optional<RunConfig>& config() const; ///< none in files of others
    [[nodiscard]] const std::string& environment() const;      ///< JSON, "{}" if there is none

    /// Rows and state as they are now. A run that says it is running while no process writes it is
    /// Failed. Files without /progress are finished.
    [[nodiscard]] RunProgress progress() const;
    [[nodiscard]] std::string message() const;

    [[nodiscard]] std::span<const std::int64_t> steps() const; ///< of all rows, written yet or not
    [[nodiscard]] std::span<const TensorInfo> parameters() const;
    [[nodiscard]] WeightsLevel weightsLevel() const;
    [[nodiscard]] bool hasGradients() const;
    [[nodiscard]] bool hasDigests() const;

    /// row < progress().rows. Of a sample, only the elements that it keeps. Throws RecordingError, also where
    /// there are only digests.
    [[nodiscard]] TensorRow weights(std::size_t parameter, std::size_t row) const;
    [[nodiscard]] TensorRow gradients(std::size_t parameter, std::size_t row) const;
    /// The elements of the gradient that gradients = "sample" keeps, also out of whole gradients; none if the file
    /// has neither.
    [[nodiscard]] std::optional<TensorRow> gradientSample(std::size_t parameter, std::size_t row) const;

    /// Recorded digests, or computed from the values where a foreign file has none.
    [[nodiscard]] Digest weightDigest(std::size_t parameter, std::size_t row) const;
    /// None if the file has neither gradients nor their digests.
    [[nodiscard]] std::optional<Digest> gradientDigest(std::size_t parameter, std::size_t row) const;
    [[nodiscard]] std::optional<Digest> batchDigest(std::size_t row) const;
    [[nodiscard]] std::optional<RandomState> randomState(std::size_t row) const; ///< none if it was not recorded

    /// Modules whose ReLU signs of a probe batch are recorded, in the order of the file.
    struct ReluProbe {
        std::string module;
        std::uint64_t units = 0; ///< of all samples of the probe
    };
    [[nodiscard]] std::span<const ReluProbe> reluProbes() const;
    /// Which of its units were positive: a bit each, as numpy.packbits; bits behind `units` mean nothing. Throws
    /// RecordingError.
    [[nodiscard]] std::vector<std::uint8_t> reluSigns(std::size_t probe, std::size_t row) const;

    /// run_id of the reference that the recorder compared with as it went (weights = "metrics"), or "".
    [[nodiscard]] const std::string& comparedWith() const;
    /// A row of /comparison/<name>, recorded then. Throws RecordingError.
    [[nodiscard]] std::vector<double> recordedMetric(std::string_view name, std::size_t row) const;
    [[nodiscard]] std::vector<std::uint64_t> recordedHistogram(std::size_t row) const;

    [[nodiscard]] std::vector<double> scalar(Scalar scalar) const; ///< of the rows written; may be empty
    [[nodiscard]] std::vector<std::int64_t> sampleIds(std::size_t row) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> m;
};

} // namespace driftscope
