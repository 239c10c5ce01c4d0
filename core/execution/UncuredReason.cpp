// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/UncuredReason.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace driftscope {
namespace {

bool isOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

bool hasBatchStatistics(const RunConfig& run, std::span<const std::string> refusals) {
    return run.model.batchNorm || isOneOf(run.model.kind, {"resnet18", "resnet50"}) ||
           std::ranges::any_of(refusals, [](const std::string& reason) {
               return reason.find("batch statistics") != std::string::npos;
           });
}

/// True where the gradient does not depend on how the batch is split.
bool isSplitFree(const RunConfig& run) {
    return run.train.accumulator == "canonical" && run.train.lossNormalization == "batch" &&
           run.train.tail != "unscaled";
}

/// Settings whose difference changes nothing in the steps that two runs have in common.
bool isWithoutEffect(const SettingSpec& spec, const RunConfig& run, const RunConfig& reference) {
    if (spec.section == "record" || isOneOf(spec.key, {"repeat", "steps", "epochs"}))
        return true;
    if (spec.section == "train" && spec.key == "accumulation")
        return isSplitFree(run) && isSplitFree(reference);
    if (spec.section == "train" && spec.key == "loader_workers") {
        const bool isAugmented = run.data.randomCrop > 0 || run.data.randomFlip;
        return !isAugmented || (run.train.workerRng == "per-sample" && reference.train.workerRng == "per-sample");
    }
    return !whyUnused(run, spec).empty() && !whyUnused(reference, spec).empty();
}

std::string splitReason(const RunConfig& run, std::span<const std::string> refusals) {
    if (hasBatchStatistics(run, refusals))
        return "no cure by arithmetic: batch statistics are those of a micro-batch, so another split computes another "
               "function";
    if (run.train.lossNormalization == "none")
        return "without loss normalization the gradient grows with the number of micro-batches";
    if (run.train.lossNormalization == "micro_batch")
        return "a mean of micro-batch means weights samples by the split";
    if (run.train.tail == "unscaled")
        return "an unscaled last group counts as complete, which depends on the split";
    return "micro-batches are summed otherwise";
}

std::string reasonOf(const SettingSpec& spec, const RunConfig& run, std::span<const std::string> refusals) {
    const std::string_view key = spec.key;
    if (spec.section == "model")
        return key == "head_seed" ? "another seed of the head's initial weights" : "another network";
    if (spec.section == "data")
        return "other data";
    if (key == "accumulation")
        return splitReason(run, refusals);
    if (key == "seed")
        return "another seed: other initial weights and random draws";
    if (isOneOf(key, {"dtype", "autocast"}))
        return "another number format rounds otherwise";
    if (key == "device")
        return "another device: its kernels round otherwise, and no setting makes them alike";
    if (key == "loss_normalization")
        return "another loss scaling: another gradient";
    if (key == "tail")
        return "another loss scaling of an epoch's incomplete last group";
    if (key == "batch")
        return "other samples in every update";
    if (isOneOf(key, {"optimizer", "learning_rate", "momentum", "weight_decay", "betas", "eps"}))
        return "another update rule";
    if (isOneOf(key, {"loss", "label_smoothing", "ignore_index"}))
        return "another loss";
    if (isOneOf(key, {"order", "order_seed"}))
        return "another order of the samples";
    return "no remedy could be applied";
}

} // namespace

UncuredReason whyUncured(const RunConfig& run, const RunConfig& reference, std::span<const std::string> refusals) {
    UncuredReason reason;
    std::vector<std::string> texts;
    for (const SettingSpec& spec : settingSpecs()) {
        const SettingValue value = spec.get(run), other = spec.get(reference);
        if (value == other || isWithoutEffect(spec, run, reference))
            continue;
        reason.axes.push_back(spec.axisKey());
        texts.push_back(fmt::format("{} ({} → {}): {}", spec.axisKey(), toText(other), toText(value),
                                    reasonOf(spec, run, refusals)));
    }
    if (texts.empty())
        texts.emplace_back("no setting that matters differs: the run itself is not repeatable here");
    for (const std::string& refusal : refusals)
        texts.push_back(refusal);
    reason.text = fmt::format("{}", fmt::join(texts, "; "));
    return reason;
}

} // namespace driftscope
