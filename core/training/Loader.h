// SPDX-License-Identifier: GPL-3.0-or-later
// Hands out the batches of one epoch after the other as PyTorch's DataLoader does, also where worker
// threads prepare them. For core/training only.
#pragma once

#include "training/BatchSource.h"
#include "training/Sampler.h"

#include <cstdint>
#include <memory>

namespace driftscope {

class Loader {
public:
    /// Borrows the source. Workers are threads here, not processes, but draw as PyTorch's: worker w's
    /// generator is seeded with base_seed + w at the start of each epoch, base_seed is drawn from the default
    /// generator, and batch i of an epoch is worker i mod n's.
    Loader(const TrainConfig& config, const BatchSource& source);
    ~Loader();

    [[nodiscard]] std::int64_t batchesPerEpoch() const { return m_sampler.batchesPerEpoch(); }
    Batch next();

private:
    class Workers;
    void startEpoch();
    [[nodiscard]] Batch make(std::vector<std::int64_t> ids, at::Generator generator, std::int64_t epoch) const;

    TrainConfig m_config;
    const BatchSource& m_source;
    Sampler m_sampler;
    std::int64_t m_epoch = -1;
    std::int64_t m_position = 0; ///< of the next batch in the epoch
    std::vector<std::vector<std::int64_t>> m_batches;
    std::unique_ptr<Workers> m_workers; ///< of this epoch
};

} // namespace driftscope
