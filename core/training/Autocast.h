// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <c10/core/DeviceType.h>

namespace driftscope {

/// torch.autocast of this thread while it lives: bfloat16 on the CPU, float16 on a GPU. For core/training only.
class Autocast {
public:
    explicit Autocast(c10::DeviceType device);
    ~Autocast();
    Autocast(const Autocast&) = delete;
    Autocast& operator=(const Autocast&) = delete;

private:
    c10::DeviceType m_device;
};

} // namespace driftscope
