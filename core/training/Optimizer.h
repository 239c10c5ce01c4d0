// SPDX-License-Identifier: GPL-3.0-or-later
// SGD, Adam and AdamW with the arithmetic of PyTorch's Python optimizers, operation by operation:
// LibTorch's C++ classes part from them in the last bits (Adam from 2.1 on). For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <torch/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace driftscope {

class Optimizer {
public:
    Optimizer(const TrainConfig& config, std::vector<torch::Tensor> parameters);

    /// One update from the parameters' gradients; a parameter without a gradient stays as it is.
    void step();

    /// Forgets the gradients, as zero_grad(set_to_none=True).
    void zeroGradients();

    /// A tensor of the optimizer's memory, named as in PyTorch's state_dict.
    struct State {
        std::size_t parameter;
        std::string_view name; ///< momentum_buffer; exp_avg, exp_avg_sq
        torch::Tensor value;   ///< undefined until the first step
    };
    /// The same names in the same order at any time.
    [[nodiscard]] std::vector<State> state() const;

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
