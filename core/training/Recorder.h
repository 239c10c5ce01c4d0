// SPDX-License-Identifier: GPL-3.0-or-later
// Decides what of a training goes into its run file, and hands it to the writer. For core/training only.
#pragma once

#include "recording/RowStream.h"
#include "recording/RunReader.h"
#include "recording/RunWriter.h"
#include "training/ActivationCapture.h"
#include "training/BatchSource.h"
#include "training/Network.h"
#include "training/Optimizer.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace driftscope {

/// What is recorded; what it borrows outlives the recorder.
struct Recorded {
    const RunConfig& config;
    const BatchSource& source;
    const Optimizer& optimizer;
    Network& network;
    std::vector<std::string> names;
    std::vector<torch::Tensor> parameters;
    torch::Device device;
    std::function<torch::Tensor(torch::Tensor)> forward; ///< with the run's precision settings
};

/// Where weights = "metrics" gets the reference's weights from.
struct ReferenceReplay {
    int stream = -1;            ///< to read from: recording/RowStream
    std::filesystem::path file; ///< the reference's own recording, whose digests the replay must have
};

/// Steps that get a row, rising: 0, those that [record] asks for, and the last.
std::vector<std::int64_t> recordedSteps(const RecordConfig& config, std::int64_t steps);

/// The type of a recorded tensor of this type of LibTorch's.
DType dtypeOf(torch::ScalarType type);

/// The tensor's values for a writer: itself where it lies in memory as they are written, else a copy.
TensorValues valuesOf(const torch::Tensor& tensor);

class Recorder {
public:
    /// Creates the file; without a name, nothing is recorded. Throws RecordingError.
    Recorder(const std::filesystem::path& file, Recorded recorded, std::int64_t steps,
             const std::optional<ReferenceReplay>& replay);

    [[nodiscard]] bool isRecorded(std::int64_t step) const;
    /// What the values of all rows take on the disk.
    [[nodiscard]] std::uint64_t recordedBytes() const { return m_recordedBytes; }

    /// To be called before a step's forward passes: listens to the network if the step's activations are kept.
    void beforeForward(std::int64_t step);

    /// To be called before each update: the writer may still read the weights where they are.
    void beforeUpdate();

    /// Hands over a row with the state after the step's update. `row` has scalars, sample ids and batch digest
    /// (nothing at step 0). Throws RecordingError.
    void record(std::int64_t step, RunRow row);

    void finish(RunState state, std::string_view message = {});

private:
    [[nodiscard]] RunSchema schema() const;
    void planOptimizerState();
    void planRandomStates();
    void planActivationsAndSigns(std::int64_t steps);
    void planMetrics();
    void addOptimizerState(RunRow& row) const;
    void addRandomStates(RunRow& row) const;
    void addActivations(RunRow& row);
    void addReluSigns(RunRow& row);
    void addMetrics(std::int64_t step, RunRow& row);

    Recorded m_recorded;
    std::vector<std::int64_t> m_steps;
    std::vector<TensorInfo> m_tensors;
    std::optional<RunReader> m_reference;     ///< what this run is compared with as it goes
    std::optional<RowStreamReader> m_stream;  ///< the reference's weights
    ActivationCapture m_activations;
    std::set<std::string, std::less<>> m_unbatched; ///< modules whose output has no row per sample
    bool m_isListening = false;
    torch::Tensor m_probe; ///< inputs of the ReLU probe
    std::vector<ExtraDataset> m_extras;
    std::size_t m_firstRandom = 0, m_firstActivation = 0, m_firstRelu = 0, m_firstMetric = 0; ///< positions in m_extras
    std::array<Digest, 2> m_randomStates{}; ///< before the forward pass, after the backward one
    std::uint64_t m_recordedBytes = 0;
    std::unique_ptr<RunWriter> m_writer; ///< none without a file
};

} // namespace driftscope
