// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Sampler.h"

#include <torch/torch.h>

#include <algorithm>
#include <numeric>

namespace driftscope {

Sampler::Sampler(const TrainConfig& config, std::int64_t samples)
    : m_samples(samples), m_batch(config.batch), m_shuffled(config.order == "shuffled"),
      m_generator(at::make_generator<at::CPUGeneratorImpl>(static_cast<std::uint64_t>(config.orderSeed))),
      m_order(static_cast<std::size_t>(samples)) {
    startEpoch();
}

std::int64_t Sampler::batchesPerEpoch() const { return (m_samples + m_batch - 1) / m_batch; }

void Sampler::startEpoch() {
    m_position = 0;
    if (!m_shuffled) {
        std::iota(m_order.begin(), m_order.end(), std::int64_t{0});
        return;
    }
    // As RandomSampler does with a generator of its own: one randperm an epoch.
    const torch::Tensor permutation = torch::randperm(m_samples, m_generator, torch::kInt64);
    std::copy_n(permutation.data_ptr<std::int64_t>(), m_samples, m_order.begin());
}

std::vector<std::int64_t> Sampler::nextBatch() {
    if (m_position == m_samples)
        startEpoch();
    const std::int64_t end = std::min(m_position + m_batch, m_samples);
    std::vector<std::int64_t> ids(m_order.begin() + m_position, m_order.begin() + end);
    m_position = end;
    return ids;
}

} // namespace driftscope
