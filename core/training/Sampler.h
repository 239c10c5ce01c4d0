// SPDX-License-Identifier: GPL-3.0-or-later
// Which samples each update sees, as PyTorch's DataLoader with drop_last=False. For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <ATen/core/Generator.h>

#include <cstdint>
#include <vector>

namespace driftscope {

class Sampler {
public:
    Sampler(const TrainConfig& config, std::int64_t samples);

    [[nodiscard]] std::int64_t batchesPerEpoch() const;

    /// Sample ids of the next batch; the last of an epoch may hold fewer than `batch`.
    std::vector<std::int64_t> nextBatch();

private:
    void startEpoch();

    std::int64_t m_samples;
    std::int64_t m_batch;
    bool m_shuffled;
    at::Generator m_generator; ///< its own: shuffling draws nothing from the default generator
    std::vector<std::int64_t> m_order;
    std::int64_t m_position = 0;
};

} // namespace driftscope
