// SPDX-License-Identifier: GPL-3.0-or-later
// What TensorFloat-32 does to matrix products and convolutions, on a CPU. For core/training only.
#pragma once

#include <torch/types.h>

#include <memory>

namespace driftscope {

/// float32 rounded to nearest, ties to even, at 10 explicit mantissa bits, as NVIDIA's cvt.rn.tf32 does; NaN and
/// infinities stay. Other types are returned as they are.
torch::Tensor roundedToTf32(const torch::Tensor& tensor);

/// While it lives, on this thread and in the backward passes it starts: the inputs of every matrix product and
/// convolution, forward and backward, are rounded to TF32; sums stay float32, as on a tensor core. It is an
/// emulation: a GPU sums in another order.
class Tf32Emulation {
public:
    Tf32Emulation();
    ~Tf32Emulation();
    Tf32Emulation(const Tf32Emulation&) = delete;
    Tf32Emulation& operator=(const Tf32Emulation&) = delete;

private:
    struct Guard;
    std::unique_ptr<Guard> m_guard;
};

} // namespace driftscope
