// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/ActivationCapture.h"

#include <torch/torch.h>

namespace driftscope {
namespace {

thread_local std::int64_t currentPosition = 0;

} // namespace

void ActivationCapture::beginAt(std::int64_t position) { currentPosition = position; }

std::int64_t ActivationCapture::position() { return currentPosition; }

void ActivationCapture::add(std::string_view module, const torch::Tensor& output) {
    const std::lock_guard held(m_mutex);
    const std::string name(module);
    auto [parts, isNew] = m_parts.try_emplace(name);
    if (isNew)
        m_order.push_back(name);
    // a module that runs twice in a pass is recorded the first time
    parts->second.try_emplace(currentPosition, output.detach().to(torch::kCPU).contiguous());
}

std::vector<std::pair<std::string, torch::Tensor>> ActivationCapture::take() {
    std::vector<std::pair<std::string, torch::Tensor>> all;
    for (const std::string& module : m_order) {
        std::vector<torch::Tensor> parts;
        for (const auto& [position, output] : m_parts[module])
            parts.push_back(output);
        all.emplace_back(module, torch::cat(parts, 0));
    }
    m_order.clear();
    m_parts.clear();
    return all;
}

} // namespace driftscope
