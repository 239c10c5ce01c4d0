// SPDX-License-Identifier: GPL-3.0-or-later
// Collects what a network's modules put out for the samples of a batch, in whatever parts and on whatever
// threads they pass. For core/training only.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace driftscope {

class ActivationCapture {
public:
    /// The next forward pass of this thread is that of the samples from this position of the batch on.
    static void beginAt(std::int64_t position);
    /// Where the pass that this thread is in began.
    static std::int64_t position();

    void add(std::string_view module, const torch::Tensor& output);

    /// Outputs of all samples, in the order of the batch, by module in the order of execution: samples × shape.
    [[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> take();

private:
    std::mutex m_mutex;
    std::vector<std::string> m_order;
    std::map<std::string, std::map<std::int64_t, torch::Tensor>> m_parts; ///< by position
};

} // namespace driftscope
