// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/Loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <numeric>

namespace driftscope {
namespace {

namespace F = torch::nn::functional;

torch::Tensor crossEntropy(const TrainConfig& config, const torch::Tensor& output, const torch::Tensor& targets) {
    return F::cross_entropy(
        output, targets,
        F::CrossEntropyFuncOptions().ignore_index(config.ignoreIndex).label_smoothing(config.labelSmoothing));
}

/// Real targets of the output's shape: as they are, or one-hot.
torch::Tensor realTargets(const torch::Tensor& output, const torch::Tensor& targets) {
    torch::Tensor real = targets.is_floating_point()
                             ? targets
                             : torch::one_hot(targets, output.size(-1)).to(output.scalar_type());
    if (real.numel() != output.numel())
        throw StudyError(fmt::format("the network puts out {} numbers per sample, the targets have {}",
                                     output.numel() / output.size(0), real.numel() / real.size(0)));
    return real.reshape(output.sizes());
}

} // namespace

Outcome lossOf(const TrainConfig& config, const torch::Tensor& output, const torch::Tensor& targets) {
    if (config.loss == "cross_entropy") {
        if (targets.is_floating_point())
            throw StudyError("loss = \"cross_entropy\" needs class targets, these are real numbers; mse or bce take them");
        const bool areSequences = output.dim() == targets.dim() + 1 && output.dim() > 2;
        const torch::Tensor flat = areSequences ? output.reshape({-1, output.size(-1)}) : output;
        const torch::Tensor labels = areSequences ? targets.reshape({-1}) : targets;
        const torch::NoGradGuard noGradient;
        const torch::Tensor isRight = flat.argmax(1).eq(labels);
        const std::int64_t correct = isRight.sum().item<std::int64_t>();
        const at::AutoGradMode withGradient(true);
        return {crossEntropy(config, flat, labels), correct, countedTargets(config, targets)};
    }
    const torch::Tensor real = realTargets(output, targets);
    return {config.loss == "mse" ? F::mse_loss(output, real) : F::binary_cross_entropy_with_logits(output, real), 0,
            targets.size(0)};
}

torch::Tensor sampleLosses(const TrainConfig& config, const torch::Tensor& output, const torch::Tensor& targets) {
    const torch::NoGradGuard noGradient;
    const std::int64_t samples = output.size(0);
    if (config.loss == "cross_entropy")
        return F::cross_entropy(output.reshape({-1, output.size(-1)}), targets.reshape({-1}),
                                F::CrossEntropyFuncOptions()
                                    .ignore_index(config.ignoreIndex)
                                    .label_smoothing(config.labelSmoothing)
                                    .reduction(torch::kNone))
            .reshape({samples, -1});
    const torch::Tensor real = realTargets(output, targets);
    const torch::Tensor losses =
        config.loss == "mse"
            ? F::mse_loss(output, real, F::MSELossFuncOptions(torch::kNone))
            : F::binary_cross_entropy_with_logits(
                  output, real, F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
    return losses.reshape({samples, -1});
}

std::int64_t countedTargets(const TrainConfig& config, const torch::Tensor& targets) {
    if (config.loss != "cross_entropy" || targets.is_floating_point())
        return targets.size(0);
    return targets.ne(config.ignoreIndex).sum().item<std::int64_t>();
}

std::vector<MicroBatch> microBatches(const TrainConfig& config, std::int64_t samples) {
    std::vector<MicroBatch> parts;
    std::int64_t first = 0;
    for (std::int64_t i = 0; i < config.accumulation && first < samples; ++i) {
        const std::int64_t full =
            config.batch / config.accumulation + (i < config.batch % config.accumulation ? 1 : 0);
        parts.push_back({first, std::min(full, samples - first)});
        first += full;
    }
    return parts;
}

torch::Tensor LossWeight::of(const torch::Tensor& mean) const {
    torch::Tensor weighted = factor == 1 ? mean : mean * factor;
    return divisor == 1 ? weighted : weighted / static_cast<double>(divisor);
}

std::vector<LossWeight> lossWeights(const TrainConfig& config, const std::vector<std::int64_t>& counted,
                                    bool isComplete) {
    const auto parts = static_cast<std::int64_t>(counted.size());
    if (config.lossNormalization == "none")
        return std::vector<LossWeight>(counted.size());
    if (!isComplete && config.tail == "unscaled")
        return std::vector<LossWeight>(counted.size(), {.factor = 1, .divisor = config.accumulation});
    if (config.lossNormalization == "micro_batch" || std::ranges::all_of(counted, [&](std::int64_t n) {
            return n == counted.front();
        }))
        return std::vector<LossWeight>(counted.size(), {.factor = 1, .divisor = parts});
    const auto all = static_cast<double>(std::accumulate(counted.begin(), counted.end(), std::int64_t{0}));
    std::vector<LossWeight> weights;
    for (const std::int64_t n : counted)
        weights.push_back({.factor = static_cast<double>(n) / all, .divisor = 1});
    return weights;
}

} // namespace driftscope
