// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Optimizer.h"

#include <torch/torch.h>
#include <torch/version.h>

#include <cmath>

namespace driftscope {
namespace {

/// torch/optim/adam.py took up lerp for the mean of gradients, and ** 0.5 for math.sqrt, in 2.1.
constexpr bool isNewAdam = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);

} // namespace

Optimizer::Optimizer(const TrainConfig& config, std::vector<torch::Tensor> parameters)
    : m_config(config), m_parameters(std::move(parameters)), m_first(m_parameters.size()),
      m_second(m_parameters.size()), m_steps(m_parameters.size(), 0) {}

void Optimizer::zeroGradients() {
    for (torch::Tensor& parameter : m_parameters)
        parameter.mutable_grad().reset();
}

void Optimizer::step() {
    const torch::NoGradGuard noGradient;
    for (std::size_t i = 0; i < m_parameters.size(); ++i) {
        const torch::Tensor gradient = m_parameters[i].grad();
        if (!gradient.defined())
            continue;
        if (m_config.optimizer == "sgd")
            stepSgd(i, gradient);
        else
            stepAdam(i, gradient);
    }
}

std::vector<Optimizer::State> Optimizer::state() const {
    std::vector<State> all;
    const bool isSgd = m_config.optimizer == "sgd";
    for (std::size_t i = 0; i < m_parameters.size(); ++i) {
        if (!isSgd || m_config.momentum != 0)
            all.push_back({i, isSgd ? "momentum_buffer" : "exp_avg", m_first[i]});
        if (!isSgd)
            all.push_back({i, "exp_avg_sq", m_second[i]});
    }
    return all;
}

/// _single_tensor_sgd of torch/optim/sgd.py, without dampening and Nesterov.
void Optimizer::stepSgd(std::size_t i, torch::Tensor gradient) {
    torch::Tensor& parameter = m_parameters[i];
    if (m_config.weightDecay != 0)
        gradient = gradient.add(parameter, m_config.weightDecay);
    if (m_config.momentum != 0) {
        if (m_first[i].defined())
            m_first[i].mul_(m_config.momentum).add_(gradient, 1);
        else
            m_first[i] = gradient.detach().clone();
        gradient = m_first[i];
    }
    parameter.add_(gradient, -m_config.learningRate);
}

/// _single_tensor_adam of torch/optim/adam.py (and adamw.py, which decays the weights first).
void Optimizer::stepAdam(std::size_t i, torch::Tensor gradient) {
    torch::Tensor& parameter = m_parameters[i];
    const double beta1 = m_config.betas[0], beta2 = m_config.betas[1];
    if (!m_first[i].defined()) {
        m_first[i] = torch::zeros_like(parameter);
        m_second[i] = torch::zeros_like(parameter);
    }
    const auto step = static_cast<double>(++m_steps[i]);

    if (m_config.optimizer == "adamw")
        parameter.mul_(1 - m_config.learningRate * m_config.weightDecay);
    else if (m_config.weightDecay != 0)
        gradient = gradient.add(parameter, m_config.weightDecay);

    if constexpr (isNewAdam)
        m_first[i].lerp_(gradient, 1 - beta1);
    else
        m_first[i].mul_(beta1).add_(gradient, 1 - beta1);
    m_second[i].mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);

    const double correction1 = 1 - std::pow(beta1, step);
    const double correction2 = 1 - std::pow(beta2, step);
    const double stepSize = m_config.learningRate / correction1;
    const double root = isNewAdam ? std::pow(correction2, 0.5) : std::sqrt(correction2);
    const torch::Tensor denominator = (m_second[i].sqrt() / root).add_(m_config.eps);
    parameter.addcdiv_(m_first[i], denominator, -stepSize);
}

} // namespace driftscope
