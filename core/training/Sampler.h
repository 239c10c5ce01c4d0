// SPDX-License-Identifier: GPL-3.0-or-later
// Which samples each update sees, as PyTorch's samplers choose them. For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <ATen/core/Generator.h>

#include <cstdint>
#include <vector>

namespace driftscope {

class Sampler {
public:
    /// Throws StudyError if tail = "drop" leaves nothing.
    Sampler(const TrainConfig& config, std::int64_t samples);

    [[nodiscard]] std::int64_t batchesPerEpoch() const;

    /// Sample ids of every batch of the next epoch; the last may hold fewer than `batch`, unless
    /// tail = "drop".
    std::vector<std::vector<std::int64_t>> nextEpoch();

private:
    [[nodiscard]] std::vector<std::int64_t> permutation(std::int64_t count);

    TrainConfig m_config;
    std::int64_t m_samples;
    at::Generator m_generator; ///< its own: shuffling draws nothing from the default generator
};

} // namespace driftscope
