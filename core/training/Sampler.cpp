// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Sampler.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <numeric>

namespace driftscope {

Sampler::Sampler(const TrainConfig& config, std::int64_t samples)
    : m_config(config), m_samples(samples),
      m_generator(at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(config.orderSeed))) {
    if (batchesPerEpoch() == 0)
        throw StudyError(fmt::format("tail = \"drop\": the {} samples make no complete batch of {}", samples,
                                     config.batch));
}

std::int64_t Sampler::batchesPerEpoch() const {
    return m_config.tail == "drop" ? m_samples / m_config.batch : (m_samples + m_config.batch - 1) / m_config.batch;
}

/// As RandomSampler draws it with a generator of its own.
std::vector<std::int64_t> Sampler::permutation(std::int64_t count) {
    const torch::Tensor drawn = torch::randperm(count, m_generator, torch::kInt64);
    return {drawn.data_ptr<std::int64_t>(), drawn.data_ptr<std::int64_t>() + count};
}

std::vector<std::vector<std::int64_t>> Sampler::nextEpoch() {
    std::vector<std::int64_t> order(static_cast<std::size_t>(m_samples));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (m_config.order == "shuffled") {
        order = permutation(m_samples);
        (void)permutation(m_samples); // RandomSampler ends an epoch with another one, of which it uses nothing
    }
    std::vector<std::vector<std::int64_t>> batches;
    for (std::int64_t i = 0; i < batchesPerEpoch(); ++i) {
        const std::int64_t first = i * m_config.batch;
        const std::int64_t size = std::min(m_config.batch, m_samples - first);
        std::vector<std::int64_t> ids(order.begin() + first, order.begin() + first + size);
        if (m_config.order == "shuffled-within-batch") {
            const std::vector<std::int64_t> shuffled = permutation(size);
            std::ranges::transform(shuffled, ids.begin(), [&](std::int64_t k) {
                return order[static_cast<std::size_t>(first + k)];
            });
        }
        batches.push_back(std::move(ids));
    }
    return batches;
}

} // namespace driftscope
