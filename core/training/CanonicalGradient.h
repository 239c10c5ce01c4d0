// SPDX-License-Identifier: GPL-3.0-or-later
// A batch's gradient whose bits depend on nothing but the samples: not on how they are split into
// micro-batches, nor on their order in the batch, nor on the number of threads. For core/training only.
#pragma once

#include "training/BatchSource.h"
#include "training/Loss.h"
#include "training/Network.h"

#include <memory>
#include <vector>

namespace driftscope {

/// Each sample's gradient is computed by itself on one thread, `threads` samples at once, and they are summed
/// in a binary tree over the samples in the order of their ids.
class CanonicalGradient {
public:
    /// A network that draws at random, as dropout does, must have one thread: its draws have to come in one order.
    CanonicalGradient(const TrainConfig& config, Network& network, std::vector<torch::Tensor> parameters,
                      int threads);
    ~CanonicalGradient();

    struct Result {
        double loss = 0;
        std::int64_t correct = 0, counted = 0;
    };
    /// Leaves the gradient at the parameters. weights: what each sample's mean loss counts in the batch's.
    Result compute(const Batch& batch, const std::vector<LossWeight>& weights);

private:
    class Threads;
    struct Leaf {
        torch::Tensor loss; ///< weighted, one number
        std::vector<torch::Tensor> gradients;
        std::int64_t correct = 0, counted = 0;
    };
    [[nodiscard]] Leaf leafOf(const Batch& batch, std::int64_t position, const LossWeight& weight);

    TrainConfig m_config;
    Network& m_network;
    std::vector<torch::Tensor> m_parameters;
    std::unique_ptr<Threads> m_threads;
};

} // namespace driftscope
