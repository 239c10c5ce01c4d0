// SPDX-License-Identifier: GPL-3.0-or-later
// What one step of a training computed, phase by phase in the order of execution: digests of everything, and
// the values that found room. Written by the worker that trains, read by whoever compares two of them; private
// to one `explain`, which deletes them.
#pragma once

#include "recording/Digest.h"
#include "recording/TensorInfo.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace driftscope {

/// The order within a step.
enum class Phase { Init, Batch, Forward, Loss, Backward, Gradient, Update, Weights };
inline constexpr std::size_t phaseCount = 8;

constexpr std::string_view nameOf(Phase phase) {
    constexpr std::string_view names[phaseCount] = {"init",     "batch",    "forward", "loss",
                                                    "backward", "gradient", "update",  "weights"};
    return names[static_cast<std::size_t>(phase)];
}

/// What a worker is asked to trace.
struct TraceRequest {
    std::filesystem::path file{}; ///< its values go beside it
    std::int64_t step = 0;      ///< the training ends with it; 0: the initialisation alone
    bool hasOperators = false;
    std::int64_t keptOperator = -1; ///< position of the operator whose outputs' values are kept; −1: none
    /// Another run's trace of that step: forward passes alone, in which each module's output gives way to the one
    /// traced there. Empty: the step as it is.
    std::filesystem::path replayOf{};
    /// Only these samples' losses count in the gradient, with the weights that they have in the whole batch. Empty: all.
    std::vector<std::int64_t> onlySamples{};
    std::uint64_t limitBytes = std::uint64_t{512} << 20; ///< of values kept: half of it what passes through the
                                                         ///< network, half all else
};

/// A tensor at the moment it was computed, or the part of it that one micro-batch gave.
struct TracedTensor {
    std::string name;  ///< parameter, module, "inputs", "fc1.weight/exp_avg"; "" for what an operator put out
    std::string dtype; ///< "float32", "int64"
    std::vector<std::uint64_t> shape;
    Digest digest{};               ///< all zero: its memory was not written yet
    std::vector<Digest> samples{}; ///< of each row, where rows are samples
    std::int64_t first = 0;        ///< position in the batch of the first sample
    std::int64_t offset = -1;      ///< of its values; −1: not kept
    std::uint64_t bytes = 0;

    bool operator==(const TracedTensor&) const = default;
    [[nodiscard]] bool isKept() const { return offset >= 0; }
    [[nodiscard]] std::uint64_t elements() const { return TensorInfo{name, {}, shape}.elements(); }
};

/// One call of an ATen operator.
struct TracedOperator {
    std::string name; ///< "aten::addmm"
    Phase phase = Phase::Forward;
    std::string module; ///< in which it ran, "" where that is not known
    int depth = 0;      ///< operators that it was called by
    std::int64_t end = 0; ///< position in the order of ending: what an operator calls ends before it
    std::string arguments; ///< those that are numbers
    std::vector<Digest> inputs;
    std::vector<TracedTensor> outputs;

    bool operator==(const TracedOperator&) const = default;
};

struct Trace {
    struct Part { ///< a micro-batch
        std::int64_t first = 0, size = 0;
        bool operator==(const Part&) const = default;
    };

    std::int64_t step = 0;
    std::vector<std::int64_t> sampleIds;  ///< in the order of the batch
    std::vector<double> sampleWeights;    ///< what a target of each sample counts in the step's loss
    std::vector<Part> parts;
    std::vector<std::string> reluModules; ///< whose output a ReLU takes, in the order of execution
    Digest generator{};                   ///< state of the default random generator before the forward passes
    std::array<std::vector<TracedTensor>, phaseCount> phases; ///< in the order of execution
    std::vector<TracedOperator> operators;                    ///< in the order of their beginning
    std::uint64_t omittedBytes = 0;                           ///< values that found no room

    [[nodiscard]] std::vector<TracedTensor>& of(Phase phase) { return phases[static_cast<std::size_t>(phase)]; }
    [[nodiscard]] const std::vector<TracedTensor>& of(Phase phase) const {
        return phases[static_cast<std::size_t>(phase)];
    }
};

/// Takes values as they come and the rest at the end. Not for several threads at once.
class TraceWriter {
public:
    /// Throws RecordingError if the files can't be made.
    TraceWriter(const std::filesystem::path& file, std::uint64_t limitBytes);

    /// Returns where the values are, or −1 where there is no room for them. Throws RecordingError.
    std::int64_t keep(std::span<const std::byte> values, bool passesThroughNetwork);

    /// Throws RecordingError.
    void finish(Trace trace);

private:
    std::filesystem::path m_file;
    std::ofstream m_values;
    std::array<std::uint64_t, 2> m_room; ///< what is left for each kind
    std::uint64_t m_size = 0;
    std::uint64_t m_omitted = 0;
};

/// Not for several threads at once.
class TraceReader {
public:
    /// Throws RecordingError if the file is no trace.
    explicit TraceReader(const std::filesystem::path& file);

    [[nodiscard]] const Trace& trace() const { return m_trace; }

    /// The values of a tensor that is kept, or of one sample of it. Throws RecordingError.
    [[nodiscard]] std::vector<std::byte> values(const TracedTensor& tensor) const;
    [[nodiscard]] std::vector<std::byte> sampleValues(const TracedTensor& tensor, std::size_t sample) const;

private:
    [[nodiscard]] std::vector<std::byte> read(std::uint64_t offset, std::uint64_t bytes) const;

    std::filesystem::path m_file;
    Trace m_trace;
    mutable std::ifstream m_values;
    std::uint64_t m_size = 0;
};

/// The type of that name whose values can be compared as numbers; none for integers and others.
std::optional<DType> floatTypeNamed(std::string_view name);

} // namespace driftscope
