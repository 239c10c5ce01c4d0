// SPDX-License-Identifier: GPL-3.0-or-later
// Traces one step of a training: what recording/Trace.h says, taken from the tensors as they pass. The trainer
// calls it in the order of the step; what passes through the network may come from other threads. For
// core/training only.
#pragma once

#include "recording/Trace.h"
#include "training/BatchSource.h"
#include "training/Network.h"
#include "training/OperatorTrace.h"
#include "training/Optimizer.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

class StepTracer {
public:
    /// Throws RecordingError.
    explicit StepTracer(const TraceRequest& request);

    [[nodiscard]] std::int64_t step() const { return m_request.step; }
    [[nodiscard]] bool isReplay() const { return m_replayed.has_value(); }

    /// 1 for each of these samples of the batch whose loss counts, else 0; undefined: all count.
    [[nodiscard]] torch::Tensor mask(std::int64_t first, std::int64_t size) const;

    /// Step 0: around the making of the network.
    void beginInitialisation();
    void endInitialisation();

    /// In training mode from here on. unbatched: modules whose output has no row per sample.
    void begin(const Batch& batch, Network& network, std::set<std::string> unbatched);
    /// The forward and backward passes of a micro-batch follow.
    void beginPart(std::int64_t first, std::int64_t size);
    /// Of the micro-batch that began last: the mean of its losses, and that times its weight.
    void addLoss(std::int64_t first, const torch::Tensor& mean, const torch::Tensor& weighted);
    /// The passes are over. sampleWeights: Trace::sampleWeights. lossesOf: each sample's own losses, from the
    /// network's output for samples from this position of the batch on.
    void endPasses(Network& network, std::vector<double> sampleWeights,
                   const std::function<torch::Tensor(const torch::Tensor& output, std::int64_t first)>& lossesOf);

    /// What the calling thread computes next.
    void enter(Phase phase);
    /// Named tensors as they are now.
    void add(Phase phase, std::span<const std::string> names, std::span<const torch::Tensor> tensors);
    void addGradients(std::span<const std::string> names, std::span<const torch::Tensor> parameters);
    void addOptimizerState(std::span<const std::string> names, const Optimizer& optimizer);

    /// Writes the file. Throws RecordingError.
    void finish();

private:
    torch::Tensor passed(std::string_view module, torch::Tensor output);
    [[nodiscard]] torch::Tensor replacement(const std::string& module, std::int64_t first,
                                            const torch::Tensor& output) const;
    void add(Phase phase, std::string name, const torch::Tensor& tensor);
    void addSamples(Phase phase, const std::string& name, std::int64_t first, const torch::Tensor& tensor,
                    bool areRowsSamples);

    TraceRequest m_request;
    Trace m_trace;
    TraceWriter m_writer;
    std::mutex m_mutex; ///< over all below
    OperatorTrace m_operators;
    std::optional<TraceReader> m_replayed;
    std::set<std::string> m_unbatched;
    std::map<std::pair<std::string, std::int64_t>, int> m_times; ///< that a module ran for samples from a position on
    std::map<std::int64_t, torch::Tensor> m_outputs;             ///< the last module's, by position of the first sample
};

} // namespace driftscope
