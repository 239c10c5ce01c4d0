// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>
#include <torch/version.h>

namespace driftscope {
namespace {

/// One function for all devices from LibTorch 2.4 on, one for each before.
void enable(c10::DeviceType device, bool isEnabled) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_dtype(device, device == torch::kCPU ? torch::kBFloat16 : torch::kFloat16);
    at::autocast::set_autocast_enabled(device, isEnabled);
#else
    if (device == torch::kCPU) {
        at::autocast::set_autocast_cpu_dtype(torch::kBFloat16);
        at::autocast::set_cpu_enabled(isEnabled);
    } else {
        at::autocast::set_autocast_gpu_dtype(torch::kFloat16);
        at::autocast::set_enabled(isEnabled);
    }
#endif
}

} // namespace

Autocast::Autocast(c10::DeviceType device) : m_device(device) {
    enable(m_device, true);
    at::autocast::increment_nesting();
}

Autocast::~Autocast() {
    // casts of weights are kept while it lasts, as Python's context does
    if (at::autocast::decrement_nesting() == 0)
        at::autocast::clear_cache();
    enable(m_device, false);
}

} // namespace driftscope
