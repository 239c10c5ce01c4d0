// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/GradientSum.h"

#include <torch/torch.h>

namespace driftscope {

GradientSum::GradientSum(const std::string& accumulator, std::vector<torch::Tensor> parameters)
    : m_isNative(accumulator == "native"), m_isKahan(accumulator == "kahan"), m_parameters(std::move(parameters)),
      m_sum(m_parameters.size()), m_lost(m_parameters.size()) {}

void GradientSum::add() {
    if (m_isNative)
        return;
    const torch::NoGradGuard noGradient;
    for (std::size_t i = 0; i < m_parameters.size(); ++i) {
        const torch::Tensor gradient = m_parameters[i].grad();
        if (!gradient.defined())
            continue;
        m_parameters[i].mutable_grad().reset();
        if (m_isKahan) {
            if (!m_sum[i].defined()) {
                m_sum[i] = gradient.clone();
                m_lost[i] = torch::zeros_like(gradient);
                continue;
            }
            const torch::Tensor corrected = gradient - m_lost[i];
            const torch::Tensor sum = m_sum[i] + corrected;
            m_lost[i] = (sum - m_sum[i]) - corrected;
            m_sum[i] = sum;
        } else if (m_sum[i].defined()) {
            m_sum[i].add_(gradient.to(torch::kFloat64));
        } else {
            m_sum[i] = gradient.to(torch::kFloat64, /*non_blocking=*/false, /*copy=*/true);
        }
    }
}

void GradientSum::finish() {
    for (std::size_t i = 0; i < m_parameters.size(); ++i) {
        if (m_sum[i].defined())
            m_parameters[i].mutable_grad() = m_sum[i].to(m_parameters[i].scalar_type());
        m_sum[i].reset();
        m_lost[i].reset();
    }
}

} // namespace driftscope
