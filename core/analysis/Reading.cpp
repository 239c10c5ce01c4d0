// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Reading.h"

#include "analysis/GradientFactor.h"
#include "analysis/TwinRatio.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace driftscope {
namespace {

constexpr const char* notRounding = "not rounding";

/// Weights so far apart have nothing in common any more, where the spread between seeds is not known.
constexpr double saturationWithoutSeeds = 0.05;
/// Of initial weights: more than the arithmetic of their distribution can lose.
constexpr double largestInitRounding = 0x1p-14;

} // namespace

Reading::Reading(const PairFacts& facts) : m_facts(facts) {
    if (facts.run && facts.reference)
        m_differences = settingDifferences(*facts.run, *facts.reference);
    readFirst();
    readSettings();
    readRepeats();
    readSamples();
    readRandomState();
    readModules();
    readFactor();
    readTwins();
    readSize();
    readAmplification();
    readSpread();
}

void Reading::add(std::string name, std::string text, std::string says, double value, double threshold) {
    evidence.push_back({std::move(name), std::move(text), std::move(says), value, threshold});
}

std::string Reading::texts(SettingRole role) const {
    std::vector<std::string> all;
    for (const SettingDifference& difference : m_differences)
        if (difference.role == role)
            all.push_back(difference.text);
    return fmt::format("{}", fmt::join(all, ", "));
}

bool Reading::haveConditionalSettingsOnly() const {
    RunConfig same = *m_facts.run;
    same.train.lossNormalization = m_facts.reference->train.lossNormalization;
    same.train.tail = m_facts.reference->train.tail;
    return std::ranges::none_of(settingDifferences(same, *m_facts.reference), [](const SettingDifference& difference) {
        return difference.role == SettingRole::Function;
    });
}

bool Reading::doConditionsHold() const {
    const auto isWrong = [&](const TrainConfig& train) {
        const bool hasIncomplete =
            m_facts.recorded && std::ranges::any_of(m_facts.recorded->rows, &EvidenceRow::isIncomplete);
        return train.accumulation > 1 &&
               (train.lossNormalization == "none" ||
                (train.lossNormalization == "micro_batch" && train.batch % train.accumulation != 0) ||
                (train.tail == "unscaled" && hasIncomplete));
    };
    return isWrong(m_facts.run->train) != isWrong(m_facts.reference->train);
}

double Reading::saturation() const {
    return std::isnan(m_facts.seedSpread) ? saturationWithoutSeeds : m_facts.seedSpread / 4;
}

const EvidenceRow* Reading::firstRow() const {
    if (!m_facts.recorded || !m_facts.comparison->first)
        return nullptr;
    const auto row =
        std::ranges::find(m_facts.recorded->rows, m_facts.comparison->first->step, &EvidenceRow::step);
    return row == m_facts.recorded->rows.end() ? nullptr : &*row;
}

void Reading::readFirst() {
    const RunComparison& comparison = *m_facts.comparison;
    const std::size_t last = comparison.rows() - 1;
    add("digests", fmt::format("first difference: {}", toText(*comparison.first)));
    if (!std::isnan(comparison.value(Metric::RelativeL2, last, 0)))
        add("distance",
            fmt::format("relative L2 distance {:.2e} and largest ULP distance {:.0f} at step {}",
                        comparison.value(Metric::RelativeL2, last, 0), comparison.value(Metric::UlpMax, last, 0),
                        comparison.steps[last]),
            "", comparison.value(Metric::RelativeL2, last, 0));
    beginsAtInit = comparison.first->step == 0;
    if (!beginsAtInit)
        return;
    const double distance = comparison.value(Metric::RelativeL2, 0, 0);
    isInitRounding = distance <= largestInitRounding;
    if (distance > largestInitRounding)
        add("initialisation",
            fmt::format("the initial weights are {:.1e} apart: more than arithmetic can lose, other numbers were drawn",
                        distance),
            "random", distance, largestInitRounding);
    else if (isInitRounding)
        add("initialisation",
            fmt::format("the initial weights are {:.1e} apart: the same draws, computed with another rounding", distance),
            "rounding", distance, largestInitRounding);
}

void Reading::readSettings() {
    if (!areSettingsKnown()) {
        add("settings", "the settings of files that others wrote are not known");
        return;
    }
    if (m_differences.empty()) {
        add("settings", "no setting differs: the same run gave other bits", "run-to-run");
        return;
    }
    std::vector<std::string> all;
    for (const SettingDifference& difference : m_differences)
        all.push_back(difference.text);
    add("settings", fmt::format("settings that differ: {}", fmt::join(all, ", ")));
    if (differ(SettingRole::Function))
        add("settings", fmt::format("{}: not the same training, as it is written", texts(SettingRole::Function)),
            "algorithmic");
    if (differ(SettingRole::Precision))
        add("settings", fmt::format("{}: another number of bits, as it is written", texts(SettingRole::Precision)),
            "precision");
    if (differ(SettingRole::Seed))
        add("settings", fmt::format("{}: other random numbers, as it is written", texts(SettingRole::Seed)), "random");
}

void Reading::readRepeats() {
    if (m_facts.repeats == 0)
        return;
    if (m_facts.doRepeatsDiffer)
        add("repeats", "the same run, made again, has other bits: not all of this difference comes from the settings",
            "run-to-run");
    else
        add("repeats", "the same run, made again, has the same bits");
}

void Reading::readSamples() {
    if (!m_facts.recorded)
        return;
    std::int64_t other = -1, reordered = -1, values = -1;
    for (const EvidenceRow& row : m_facts.recorded->rows) {
        if (row.samples == SampleSets::Other && other < 0)
            other = row.step;
        if (row.samples == SampleSets::Reordered && reordered < 0)
            reordered = row.step;
        if (row.samples == SampleSets::Same && row.haveOtherBatches && values < 0)
            values = row.step;
    }
    haveOtherSamples = other >= 0;
    // another type has other bits of the same value
    haveOtherValues = values >= 0 && !differ(SettingRole::Precision);
    if (haveOtherSamples)
        add("samples", fmt::format("the update of step {} saw other samples", other), "data",
            static_cast<double>(other));
    else if (haveOtherValues)
        add("samples",
            fmt::format("the update of step {} saw the same samples with other values: they are augmented or read "
                        "differently",
                        values),
            "data", static_cast<double>(values));
    else if (reordered >= 0)
        add("samples", "every update saw the same samples, in another order within it");
    else if (std::ranges::any_of(m_facts.recorded->rows,
                                 [](const EvidenceRow& row) { return row.samples == SampleSets::Same; }))
        add("samples", "every recorded update saw the same samples in the same order");
    hasOtherOrder = reordered >= 0;
}

void Reading::readRandomState() {
    if (!m_facts.recorded || m_facts.recorded->rows.empty())
        return;
    const auto& rows = m_facts.recorded->rows;
    const bool draws = std::ranges::any_of(rows, &EvidenceRow::drawsRandomly);
    const auto other = std::ranges::find_if(rows, &EvidenceRow::differsInRandomState);
    haveOtherDraws = other != rows.end() && (other->step <= 1 || draws);
    if (haveOtherDraws)
        add("random state",
            fmt::format("the state of the random generator differs after step {}: other numbers were drawn, or "
                        "another number of them",
                        other->step),
            "random", static_cast<double>(other->step));
    const bool isSplitOtherwise =
        areSettingsKnown() && m_facts.run->train.accumulation != m_facts.reference->train.accumulation;
    mayHaveOtherMasks = draws && (isSplitOtherwise || hasOtherOrder);
    if (mayHaveOtherMasks)
        add("random state",
            "the network draws random numbers as it runs (dropout), and the batch is split or ordered differently: "
            "the same sample gets another mask",
            "random");
}

void Reading::readModules() {
    if (!areSettingsKnown() || !hasBatchStatistics(m_facts.run->model))
        return;
    haveOtherStatistics = m_facts.run->train.accumulation != m_facts.reference->train.accumulation ||
                          (hasOtherOrder && m_facts.run->train.accumulation > 1);
    if (haveOtherStatistics)
        add("modules",
            "the network normalises by batch statistics (BatchNorm), and its micro-batches differ: each sample is "
            "normalised by other samples",
            "algorithmic");
}

void Reading::readFactor() {
    if (!m_facts.recorded)
        return;
    // the twins part later, so that more of their steps can be read
    const bool fromTwins = m_facts.twins && m_facts.recordedTwins && !differ(SettingRole::Precision);
    const GradientFactor found = fromTwins ? gradientFactor(*m_facts.recordedTwins, *m_facts.twins)
                                           : gradientFactor(*m_facts.recorded, *m_facts.comparison);
    if (found.steps.empty())
        return;
    isScaled = true;
    isScaledInTail = found.isOnlyIncomplete;
    factor = found.factor;
    const std::string where =
        isScaledInTail
            ? fmt::format("only in the last, incomplete update of an epoch (step{} {}): an incomplete group is "
                          "scaled as if it were complete",
                          found.steps.size() > 1 ? "s" : "", fmt::join(found.steps, ", "))
            : fmt::format("from step {} on", found.steps.front());
    const std::string times = factor > 1 ? fmt::format("{:.6g} times", factor)
                                         : fmt::format("1/{:.6g} of", 1 / factor);
    add("factor",
        fmt::format("the whole gradient is {} the reference's, in every tensor and with the same direction, {}", times,
                    where),
        "algorithmic", factor, 1);
}

void Reading::readTwins() {
    if (!m_facts.twins)
        return;
    if (differ(SettingRole::Precision) && m_facts.run->train.dtype != m_facts.reference->train.dtype &&
        (m_facts.run->train.dtype == "float64" || m_facts.reference->train.dtype == "float64")) {
        twinProblem = "one of the two is in float64 itself";
        return;
    }
    if (differ(SettingRole::Precision)) {
        readTwinsOfOtherPrecision();
        return;
    }
    const TwinRatio ratio =
        twinRatio(*m_facts.comparison, *m_facts.twins, saturation(), m_facts.recorded, m_facts.recordedTwins);
    if (!ratio.isUsable) {
        twinProblem = ratio.whyNot;
        add("twins", fmt::format("the float64 twins can't tell: {}", ratio.whyNot));
        return;
    }
    // of the first gradient nothing is inherited; weights also carry the rounding of the update
    const bool fromGradients = !std::isnan(ratio.ofGradients);
    const double q = fromGradients ? ratio.ofGradients : ratio.median;
    sayOtherFunction = q >= functionRatio || ratio.leapStep >= 0 ||
                       (fromGradients && ratio.rows > 0 && ratio.median >= functionRatio);
    isUnseen = ratio.unseenAfter >= 0;
    sayRounding = !sayOtherFunction && !isUnseen && q <= roundingRatio &&
                  (std::isnan(ratio.median) || ratio.median <= std::sqrt(roundingRatio * functionRatio));
    const std::string what = fromGradients ? "gradients' first difference" : "weights' difference";
    add("twins",
        q == 0             ? fmt::format("in float64 the {} vanishes: the bits are equal", what)
        : sayRounding      ? fmt::format("in float64 the {} shrinks to {:.1e} of what it is: rounding shrinks with "
                                         "the bits, another function does not",
                                         what, q)
        : q >= functionRatio ? fmt::format("in float64 the {} stays: {:.2g} of what it is; rounding would shrink to "
                                           "about 1e-9",
                                           what, q)
                             : fmt::format("in float64 the {} is {:.1e} of what it is", what, q),
        sayRounding ? "rounding" : q >= functionRatio ? notRounding : "", q,
        q >= functionRatio ? functionRatio : roundingRatio);
    if (fromGradients && ratio.rows > 0 && !sayRounding && q < functionRatio)
        add("twins",
            fmt::format("in float64 the weights' difference is {:.1e} of what it is, over the first {} rows that differ",
                        ratio.median, ratio.rows),
            ratio.median >= functionRatio ? notRounding : "", ratio.median, functionRatio);
    if (ratio.leapStep >= 0)
        add("twins",
            fmt::format("at step {} the twins leap apart, from rounding's distance to that of the runs, as no growth "
                        "of rounding does",
                        ratio.leapStep),
            notRounding, static_cast<double>(ratio.leapStep));
    if (isUnseen)
        add("twins", fmt::format("behind step {} no rows are recorded where the twins part: record every step",
                                 ratio.unseenAfter));
}

void Reading::readTwinsOfOtherPrecision() {
    if (!m_facts.twins->first) {
        add("twins", "in float64 the two have equal bits: nothing but the precision differs", "precision");
        return;
    }
    double largest = 0;
    for (std::size_t row = 0; row < m_facts.twins->rows(); ++row)
        if (m_facts.twins->steps[row] <= m_facts.twins->first->step + 1)
            largest = std::max(largest, m_facts.twins->value(Metric::RelativeL2, row, 0));
    if (m_facts.recordedTwins)
        for (const EvidenceRow& row : m_facts.recordedTwins->rows)
            if (row.gradient && row.step <= m_facts.twins->first->step)
                largest = std::max(largest, row.gradient->relative);
    constexpr double float64Rounding = 0x1p-30;
    sayOtherFunction = largest > float64Rounding;
    add("twins",
        sayOtherFunction ? fmt::format("in float64 the two still begin {:.1e} apart: not only the precision differs", largest)
                         : fmt::format("in float64 the two begin {:.1e} apart, as rounding does", largest),
        sayOtherFunction ? notRounding : "precision", largest, float64Rounding);
}

void Reading::readSize() {
    const EvidenceRow* row = firstRow();
    if (!row || !row->gradient || !row->differsInGradient || beginsAtInit || !isStepOfItsOwn(row->step))
        return;
    const double epsilon = m_facts.epsilon;
    if (epsilon > 0x1p-20) // of 16-bit types a flipped ReLU may change all there is
        return;
    const auto layers = static_cast<double>(std::ranges::count(m_facts.comparison->scopes, ScopeKind::Layer,
                                                               &Scope::kind));
    const double plausible = epsilon * 4 * std::pow(1.03, layers), impossible = epsilon * 0x1p13;
    const double relative = row->gradient->relative;
    isPlausible = relative <= plausible;
    isTooLarge = relative > impossible;
    add("size",
        fmt::format("the first gradient that differs is {:.1e} off, {:.2g} machine epsilons: {}", relative,
                    relative / epsilon,
                    isTooLarge    ? "no rounding is that large"
                    : isPlausible ? "what rounding makes of one step"
                                  : "more than summation alone makes, less than rounding with units that flip can"),
        isTooLarge ? notRounding : isPlausible ? "rounding" : "", relative, isTooLarge ? impossible : plausible);
}

bool Reading::isStepOfItsOwn(std::int64_t step) const {
    return std::ranges::find(m_facts.comparison->steps, step - 1) != m_facts.comparison->steps.end();
}

void Reading::readAmplification() {
    const EvidenceRow* row = firstRow();
    if (!row || !row->gradient || !(row->gradient->relative > 0) || !areSettingsKnown() || isScaled ||
        m_facts.run->train.optimizer == "sgd" || m_facts.run->train.optimizer != m_facts.reference->train.optimizer)
        return;
    const auto at = std::ranges::find(m_facts.comparison->steps, row->step) - m_facts.comparison->steps.begin();
    const double maximum = m_facts.comparison->value(Metric::MaxAbsolute, static_cast<std::size_t>(at), 0);
    // an update moves a weight by about the learning rate
    const double share = maximum / m_facts.run->train.learningRate;
    if (share > 100 * row->gradient->relative)
        add("amplification",
            fmt::format("{} divides each gradient by its own size, so that a gradient near zero turns its rounding "
                        "into a whole step: a weight is off by {:.1e} of the learning rate after step {}, where the "
                        "gradient is off by {:.1e}",
                        m_facts.run->train.optimizer, share, row->step, row->gradient->relative),
            "", share, row->gradient->relative);
}

void Reading::readSpread() {
    const std::size_t last = m_facts.comparison->rows() - 1;
    const double distance = m_facts.comparison->value(Metric::RelativeL2, last, 0);
    if (std::isnan(m_facts.seedSpread) || std::isnan(distance) || differ(SettingRole::Seed))
        return;
    add("spread",
        fmt::format("two seeds are {:.1e} apart; this difference is {:.1e} of that", m_facts.seedSpread,
                    distance / m_facts.seedSpread),
        "", distance / m_facts.seedSpread, 1);
}

} // namespace driftscope
