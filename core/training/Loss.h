// SPDX-License-Identifier: GPL-3.0-or-later
// The loss of a micro-batch and its weight in the batch. For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace driftscope {

/// What a network's output says of its targets.
struct Outcome {
    torch::Tensor mean;        ///< the loss's mean over what counts; NaN where nothing does
    std::int64_t correct = 0;  ///< largest output at the target's class; cross-entropy only
    std::int64_t counted = 0;  ///< targets that are not ignored
};

/// output: samples × classes, or samples × tokens × classes; or samples × shape of a real target. Class
/// targets become one-hot for mse and bce. Throws StudyError where they don't go together.
Outcome lossOf(const TrainConfig& config, const torch::Tensor& output, const torch::Tensor& targets);

/// The losses before any mean is taken, without gradient: samples × what each has of them.
torch::Tensor sampleLosses(const TrainConfig& config, const torch::Tensor& output, const torch::Tensor& targets);

/// Targets that are not ignored.
std::int64_t countedTargets(const TrainConfig& config, const torch::Tensor& targets);

struct MicroBatch {
    std::int64_t first = 0, size = 0; ///< samples of the batch
};

/// As torch.tensor_split of a complete batch: sizes differ by one at most. An incomplete batch has as many
/// micro-batches of those sizes as it fills, the last one maybe smaller.
std::vector<MicroBatch> microBatches(const TrainConfig& config, std::int64_t samples);

/// A mean times this is the micro-batch's part of the batch's loss. Where it is a quotient 1/n, as people write
/// it, the mean is divided by n: other bits than multiplied with.
struct LossWeight {
    double factor = 1;
    std::int64_t divisor = 1;
    [[nodiscard]] torch::Tensor of(const torch::Tensor& mean) const;
};

/// counted: of every micro-batch. isComplete: false for an epoch's incomplete last batch.
std::vector<LossWeight> lossWeights(const TrainConfig& config, const std::vector<std::int64_t>& counted,
                                    bool isComplete);

} // namespace driftscope
