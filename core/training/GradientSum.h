// SPDX-License-Identifier: GPL-3.0-or-later
// Sums the gradients of a batch's micro-batches, one after the other. For core/training only.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace driftscope {

class GradientSum {
public:
    /// accumulator: native leaves the sum to autograd; float64 sums in float64 and rounds once; kahan carries
    /// each addition's error along in the gradient's own type (Kahan 1965).
    GradientSum(const std::string& accumulator, std::vector<torch::Tensor> parameters);

    /// Takes the gradients that a backward pass has left at the parameters.
    void add();
    /// Leaves the sum there instead, and begins anew.
    void finish();

private:
    bool m_isNative, m_isKahan;
    std::vector<torch::Tensor> m_parameters;
    std::vector<torch::Tensor> m_sum;
    std::vector<torch::Tensor> m_lost; ///< kahan: what rounding took from the sum
};

} // namespace driftscope
