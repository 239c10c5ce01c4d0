// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Judge.h"

#include "analysis/Reading.h"

#include <fmt/format.h>

#include <string>

namespace driftscope {
namespace {

/// A kind, what it means here, and what to do.
struct Decision {
    std::string kind, what, todo;
};

std::string settled(const Reading& reading) {
    if (!reading.hasTwins() && reading.areSettingsKnown())
        return "float64 twins would settle it: driftscope-cli run STUDY_DIR --resume --twins.";
    if (!reading.areSettingsKnown())
        return "Whole gradients in both files, or a study of the same training with twins, would settle it.";
    return "driftscope-cli explain names the first operator that differs.";
}

Decision decideFunction(const Reading& reading) {
    if (reading.isScaledInTail)
        return {"algorithmic",
                fmt::format("The gradient of an epoch's incomplete last update is scaled by {:.6g}: the last group is "
                            "divided by the wrong number of micro-batches.",
                            reading.factor),
                "Divide by the number of samples that are really in it (tail = \"scaled\")."};
    if (reading.isScaled)
        return {"algorithmic",
                fmt::format("The loss is scaled: every gradient is {:.6g} times the reference's.", reading.factor),
                "Divide each micro-batch's loss by what the whole batch is divided by (loss_normalization = \"batch\"). Adam "
                "hides such a factor from the weights."};
    if (reading.haveOtherStatistics)
        return {"algorithmic",
                "BatchNorm normalises each micro-batch by its own statistics, so splitting the batch computes another "
                "function.",
                "No arithmetic cures that: keep the micro-batch's size, or normalise without batch statistics (GroupNorm, "
                "LayerNorm)."};
    if (reading.differ(SettingRole::Function) && reading.mayHaveOtherMasks && !reading.isFunctionCertain())
        return {"inconclusive",
                fmt::format("Not rounding: {} and the network's random masks both differ.",
                            reading.texts(SettingRole::Function)),
                "The same with dropout = 0 would settle it."};
    if (reading.differ(SettingRole::Function))
        return {"algorithmic",
                fmt::format("Another function is computed: {}.", reading.texts(SettingRole::Function)),
                "Give both the same value, or accept that they are two trainings."};
    if (reading.mayHaveOtherMasks || reading.haveOtherDraws)
        return {"random",
                "The network's random numbers (dropout) fall on other samples, so the two trainings see other masks.",
                "Compare with dropout = 0, or draw the masks per sample."};
    return {"", "", ""};
}

Decision decideAlone(const Reading& reading) {
    if (reading.noSettingDiffers())
        return {"run-to-run", "The same run with the same settings gave other bits.",
                "Look for nondeterministic operators: deterministic = true, fixed threads; driftscope-cli explain names "
                "the first."};
    if (reading.haveOtherSamples || reading.haveOtherValues) {
        if (reading.sayRounding)
            return {"inconclusive", "The batches differ, and yet the difference shrinks in float64 as rounding does.",
                    settled(reading)};
        return {"data",
                reading.haveOtherSamples ? "Some update saw other samples than the reference's did."
                                         : "Some update saw its samples with other values: augmentation drew other "
                                           "random numbers, or the data is read differently.",
                reading.haveOtherSamples ? "Fix order, order_seed and the number of samples per update."
                                         : "Give each sample a generator of its own (worker_rng = \"per-sample\")."};
    }
    const bool isInitRandom = reading.beginsAtInit && !reading.isInitRounding;
    if (reading.differ(SettingRole::Seed) || (isInitRandom && !reading.differ(SettingRole::Precision)))
        return {"random",
                reading.differ(SettingRole::Seed) ? "Another seed: other random numbers from the initialisation on."
                                                  : "The initial weights were drawn from other random numbers.",
                "Seed both alike, right before the model is made."};
    return {"", "", ""};
}

Decision decide(const Reading& reading) {
    if (Decision alone = decideAlone(reading); !alone.kind.empty())
        return alone;
    const bool isOtherFunction = reading.sayOtherFunction || (reading.isTooLarge && !reading.sayRounding);
    if (reading.differ(SettingRole::Precision)) {
        if (reading.hasTwins() && reading.sayOtherFunction) {
            if (Decision function = decideFunction(reading); !function.kind.empty())
                return function;
            return {"inconclusive", "The precision differs, and something else with it: float64 twins differ too.",
                    "Compare with the precision alike."};
        }
        return {"precision", fmt::format("The two compute with other numbers of bits: {}.",
                                         reading.texts(SettingRole::Precision)),
                "Give both the same precision; the difference is of the coarser format's size."};
    }
    // these are certain without twins, where nothing says rounding
    const bool isCertain = reading.isScaled || reading.haveOtherStatistics;
    if (isOtherFunction || (isCertain && !reading.sayRounding)) {
        if (Decision function = decideFunction(reading); !function.kind.empty())
            return function;
        if (reading.sayOtherFunction)
            return {"algorithmic",
                    "Another function is computed, although every setting that differs should compute the same one.",
                    "Look for what depends on it: driftscope-cli explain names where it begins."};
        return {"inconclusive", "Too large for rounding, and nothing recorded says what else it is.", settled(reading)};
    }
    if (reading.sayRounding) {
        if (reading.isFunctionCertain()) // too small to be seen, and yet not the same training
            return decideFunction(reading);
        if (reading.isTooLarge || reading.isScaled)
            return {"inconclusive",
                    "The difference shrinks in float64 as rounding does, but it is too large for rounding: a faulty kernel "
                    "or uninitialised memory looks like this.",
                    "driftscope-cli explain names the first operator that differs."};
        return {"rounding", "The same mathematics, rounded in another order or on another path.",
                "Driftscope's cure finds what removes it: driftscope-cli cure STUDY_DIR."};
    }
    if (reading.isUnseen)
        return {"inconclusive", "It begins as rounding does, but between recorded steps something larger may happen.",
                "The same with every step recorded would settle it."};
    if (reading.beginsAtInit && reading.isInitRounding && reading.areSettingsKnown() && !reading.differ(SettingRole::Function) &&
        !reading.mayHaveOtherMasks)
        return {"rounding", "The initial weights are computed with another rounding, and the trainings part from there.",
                "Fix the instruction set and the threads of the initialisation, or load the initial weights from a file."};
    if (reading.differ(SettingRole::Function) && !reading.hasTwins() && !reading.isPlausible)
        return decideFunction(reading);
    const bool mayBeOther = reading.differ(SettingRole::Function) || reading.mayHaveOtherMasks || reading.haveOtherDraws;
    if (!reading.hasTwins() && reading.isPlausible && !mayBeOther)
        return {"rounding", "The same mathematics, as far as the size of the first difference alone can tell.",
                settled(reading)};
    return {"inconclusive",
            reading.hasTwins() && !reading.twinProblem.empty()
                ? fmt::format("The float64 twins can't tell: {}.", reading.twinProblem)
                : "What is recorded does not tell rounding from another function.",
            settled(reading)};
}

} // namespace

Verdict judge(const PairFacts& facts) {
    if (!facts.comparison || facts.comparison->rows() == 0)
        return {};
    const RunComparison& comparison = *facts.comparison;
    const std::size_t last = comparison.rows() - 1;
    if (!comparison.first && !facts.isFinished) {
        const std::string text = fmt::format("The weights have equal bits at the {} recorded steps before the run ended, 0 to "
                                             "{}.",
                                             comparison.rows(), comparison.steps[last]);
        return {"inconclusive", text + " Run it to its end.", {{"digests", text, ""}}};
    }
    if (!comparison.first) {
        const std::string text = fmt::format("The weights have equal bits at all {} common recorded steps, 0 to {}.",
                                             comparison.rows(), comparison.steps[last]);
        return {"identical", text + " Nothing is to be done.", {{"digests", text, "identical"}}};
    }
    Reading reading(facts);
    Decision decision = decide(reading);
    if (facts.doRepeatsDiffer && decision.kind != "algorithmic" && decision.kind != "data")
        decision = {"run-to-run", "The same run, made again, gives other bits, so this difference can't be laid to the settings.",
                    "Make the run repeatable first: deterministic = true, fixed threads."};
    return {decision.kind, decision.what + " " + decision.todo, std::move(reading.evidence)};
}

} // namespace driftscope
