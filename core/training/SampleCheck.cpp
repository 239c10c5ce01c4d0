// SPDX-License-Identifier: GPL-3.0-or-later
#include "training/SampleCheck.h"

#include "training/BatchSource.h"
#include "training/Network.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <optional>
#include <string>

namespace driftscope {
namespace {

/// Where the targets are from, for messages.
std::string targetsOf(const DataConfig& data) {
    return !data.targets.empty() ? data.targets : !data.path.empty() ? data.path : data.kind;
}

/// Outputs of a module that was made elsewhere, one for each class; none where that can't be told from its first
/// sample: its runs will say why.
std::optional<std::int64_t> moduleClasses(const RunConfig& config, const BatchSource& source) {
    try {
        const torch::NoGradGuard noGradient;
        const auto network = makeNetwork(config.model, {source.data().shape, source.data().classes});
        network->eval(); // batch statistics of one sample are none
        const Batch batch = source.makePlain({0});
        const torch::Tensor output = network->forward(batch.inputs);
        return output.dim() == batch.targets.dim() + 1 ? std::optional(output.size(-1)) : std::nullopt;
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

/// Class labels against the loss and the module's outputs; numbers of classes of other networks follow the labels.
void checkLabels(const RunConfig& config, const BatchSource& source) {
    const auto* labels = std::get_if<std::vector<std::int64_t>>(&source.data().targets);
    if (!labels) {
        if (config.train.loss == "cross_entropy")
            throw DataError(fmt::format("{}: targets that are real numbers: loss = \"cross_entropy\" needs class labels; "
                                        "mse or bce take them",
                                        targetsOf(config.data)));
        return;
    }
    const bool canIgnore = config.train.loss == "cross_entropy";
    const std::int64_t ignored = config.train.ignoreIndex;
    if (!canIgnore && ignored < 0 && std::ranges::find(*labels, ignored) != labels->end())
        throw DataError(fmt::format("{}: has the target {}, ignore_index, which only loss = \"cross_entropy\" leaves out; "
                                    "allowed are 0 and more",
                                    targetsOf(config.data), ignored));
    if (config.model.kind != "torchscript")
        return;
    const std::optional<std::int64_t> classes = moduleClasses(config, source);
    const auto isTooLarge = [&](std::int64_t label) { return label >= *classes && !(canIgnore && label == ignored); };
    if (!classes)
        return;
    if (const auto found = std::ranges::find_if(*labels, isTooLarge); found != labels->end())
        throw DataError(fmt::format("{}: label {}: the module {} puts out {} classes; allowed are 0 … {}{}",
                                    targetsOf(config.data), *found, config.model.path, *classes, *classes - 1,
                                    canIgnore ? fmt::format(" and ignore_index = {}", ignored) : ""));
}

} // namespace

std::int64_t checkedSamples(const RunConfig& config) {
    const BatchSource source(config.data, config.train.ignoreIndex, torch::kFloat32);
    checkLabels(config, source);
    return source.data().samples;
}

} // namespace driftscope
