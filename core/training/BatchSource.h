// SPDX-License-Identifier: GPL-3.0-or-later
// Turns samples into the tensors of a batch, augmented as the data section asks. For core/training only.
#pragma once

#include "study/RunConfig.h"
#include "training/SampleSet.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace driftscope {

struct Batch {
    std::vector<std::int64_t> ids;
    torch::Tensor inputs;  ///< samples × shape of an input
    torch::Tensor targets; ///< samples × shape of a target
    [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ids.size()); }
};

class BatchSource {
public:
    /// Loads the data. Throws DataError, also where mean and std don't fit the data's channels.
    BatchSource(const DataConfig& config, std::int64_t ignoreIndex, torch::ScalarType type);

    [[nodiscard]] const SampleSet& data() const { return m_data; }
    [[nodiscard]] bool isAugmented() const { return m_config.randomCrop > 0 || m_config.randomFlip; }

    /// Pixels as torchvision's ToTensor gives them, x / 255 in float32, then RandomCrop, RandomHorizontalFlip
    /// and Normalize with torchvision's draws from the generator, sample after sample. On the CPU; safe to call
    /// from several threads.
    [[nodiscard]] Batch make(std::vector<std::int64_t> ids, at::Generator generator) const;
    /// The same without augmentation.
    [[nodiscard]] Batch makePlain(std::vector<std::int64_t> ids) const;
    /// make with a generator for each sample, seeded by what the function gives for its id.
    template <class SeedOf>
    [[nodiscard]] Batch makePerSample(std::vector<std::int64_t> ids, SeedOf seedOf) const {
        Batch batch = empty(std::move(ids));
        for (std::int64_t i = 0; i < batch.size(); ++i)
            fill(batch, i, at::make_generator<at::CPUGeneratorImpl>(seedOf(batch.ids[static_cast<std::size_t>(i)])));
        return finished(std::move(batch));
    }

private:
    [[nodiscard]] Batch empty(std::vector<std::int64_t> ids) const;
    /// generator: none, no augmentation.
    void fill(Batch& batch, std::int64_t position, const std::optional<at::Generator>& generator) const;
    [[nodiscard]] Batch finished(Batch batch) const;

    DataConfig m_config;
    torch::ScalarType m_type;
    SampleSet m_data;
    std::int64_t m_elements = 1; ///< of an input
};

} // namespace driftscope
