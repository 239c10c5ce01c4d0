// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Tf32Emulation.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>
#include <torch/torch.h>

#include <bit>
#include <cmath>
#include <cstdint>

namespace driftscope {
namespace {

/// LibTorch leaves this key free for whoever wants to see every operator before autograd does. Backward passes
/// run with the key of the thread that began them, so that their products come by here too.
constexpr auto key = c10::DispatchKey::TESTING_ONLY_GenericMode;

float rounded(float value) {
    if (!std::isfinite(value))
        return value;
    constexpr std::uint32_t dropped = 13; // of 23 mantissa bits
    std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    bits += (1U << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
    return std::bit_cast<float>(bits & ~((1U << dropped) - 1));
}

/// The rounding is not part of the function that is learned: its gradient passes through.
struct RoundToTf32 : torch::autograd::Function<RoundToTf32> {
    static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& input) {
        return roundedToTf32(input);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                   const torch::autograd::variable_list& gradients) {
        return gradients;
    }
};

torch::Tensor passed(const torch::Tensor& input) {
    if (!input.defined() || input.scalar_type() != torch::kFloat32)
        return input;
    return input.requires_grad() ? RoundToTf32::apply(input) : roundedToTf32(input);
}

using Excluded = c10::impl::ExcludeDispatchKeyGuard;

torch::Tensor mm(const torch::Tensor& a, const torch::Tensor& b) {
    const Excluded guard(key);
    return at::mm(passed(a), passed(b));
}
torch::Tensor addmm(const torch::Tensor& bias, const torch::Tensor& a, const torch::Tensor& b,
                    const at::Scalar& beta, const at::Scalar& alpha) {
    const Excluded guard(key);
    return at::addmm(bias, passed(a), passed(b), beta, alpha);
}
torch::Tensor bmm(const torch::Tensor& a, const torch::Tensor& b) {
    const Excluded guard(key);
    return at::bmm(passed(a), passed(b));
}
torch::Tensor baddbmm(const torch::Tensor& bias, const torch::Tensor& a, const torch::Tensor& b,
                      const at::Scalar& beta, const at::Scalar& alpha) {
    const Excluded guard(key);
    return at::baddbmm(bias, passed(a), passed(b), beta, alpha);
}
torch::Tensor mv(const torch::Tensor& a, const torch::Tensor& b) {
    const Excluded guard(key);
    return at::mv(passed(a), passed(b));
}
torch::Tensor addmv(const torch::Tensor& bias, const torch::Tensor& a, const torch::Tensor& b,
                    const at::Scalar& beta, const at::Scalar& alpha) {
    const Excluded guard(key);
    return at::addmv(bias, passed(a), passed(b), beta, alpha);
}
torch::Tensor convolution(const torch::Tensor& input, const torch::Tensor& weight,
                          const c10::optional<torch::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                          at::IntArrayRef dilation, bool transposed, at::IntArrayRef outputPadding,
                          std::int64_t groups) {
    const Excluded guard(key);
    return at::convolution(passed(input), passed(weight), bias, stride, padding, dilation, transposed,
                           outputPadding, groups);
}
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> convolutionBackward(
    const torch::Tensor& gradient, const torch::Tensor& input, const torch::Tensor& weight,
    at::OptionalIntArrayRef biasSizes, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
    bool transposed, at::IntArrayRef outputPadding, std::int64_t groups, std::array<bool, 3> wanted) {
    const Excluded guard(key);
    // the bias's gradient is a plain sum, which no tensor core computes
    auto [inputGradient, weightGradient, biasGradient] =
        at::convolution_backward(passed(gradient), passed(input), passed(weight), biasSizes, stride, padding,
                                 dilation, transposed, outputPadding, groups, {wanted[0], wanted[1], false});
    if (wanted[2]) {
        std::vector<std::int64_t> summed{0};
        for (std::int64_t i = 2; i < gradient.dim(); ++i)
            summed.push_back(i);
        biasGradient = gradient.sum(summed);
    }
    return {inputGradient, weightGradient, biasGradient};
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
    library.fallback(torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, library) {
    library.impl("mm", mm);
    library.impl("addmm", addmm);
    library.impl("bmm", bmm);
    library.impl("baddbmm", baddbmm);
    library.impl("mv", mv);
    library.impl("addmv", addmv);
    library.impl("convolution", convolution);
    library.impl("convolution_backward", convolutionBackward);
}

} // namespace

torch::Tensor roundedToTf32(const torch::Tensor& tensor) {
    if (tensor.scalar_type() != torch::kFloat32)
        return tensor;
    const torch::NoGradGuard noGradient;
    torch::Tensor result = tensor.detach().clone(at::MemoryFormat::Contiguous);
    auto* values = result.data_ptr<float>();
    at::parallel_for(0, result.numel(), 1 << 15, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i)
            values[i] = rounded(values[i]);
    });
    return result;
}

struct Tf32Emulation::Guard {
    c10::impl::IncludeDispatchKeyGuard include{key};
};

Tf32Emulation::Tf32Emulation() : m_guard(std::make_unique<Guard>()) {}
Tf32Emulation::~Tf32Emulation() = default;

} // namespace driftscope
