// SPDX-License-Identifier: GPL-3.0-or-later
// SGD, Adam and AdamW with the arithmetic of PyTorch's Python optimizers, operation by operation:
// LibTorch's C++ classes part from them in the last bits (Adam from 2.1 on). For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace driftscope {

class Optimizer {
public:
    Optimizer(const TrainConfig& config, std::vector<torch::Tensor> parameters);

    /// One update from the parameters' gradients; a parameter without a gradient stays as it is.
    void step();

    /// Forgets the gradients, as zero_grad(set_to_none=True).
    void zeroGradients();

private:
    void stepSgd(std::size_t i, torch::Tensor gradient);
    void stepAdam(std::size_t i, torch::Tensor gradient);

    TrainConfig m_config;
    std::vector<torch::Tensor> m_parameters;
    std::vector<torch::Tensor> m_first;  ///< momentum, or Adam's mean of gradients
    std::vector<torch::Tensor> m_second; ///< Adam's mean of squared gradients
    std::vector<std::int64_t> m_steps;   ///< Adam counts per parameter
};

} // namespace driftscope
