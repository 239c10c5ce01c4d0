// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Judge.h"

#include "analysis/GradientFactor.h"
#include "analysis/SettingRole.h"
#include "analysis/TwinRatio.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace driftscope {
namespace {

constexpr const char* notRounding = "not rounding";

/// Weights so far apart have nothing in common any more, where the spread between seeds is not known.
constexpr double saturationWithoutSeeds = 0.05;
/// Of initial weights: more than the arithmetic of their distribution can lose.
constexpr double largestInitRounding = 0x1p-14;

/// Everything the evidence says, collected before anything is decided.
class Reading {
public:
    explicit Reading(const PairFacts& facts) : m_facts(facts) {
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

    std::vector<Evidence> evidence;
    bool sayOtherFunction = false, sayRounding = false; ///< the twins
    bool isTooLarge = false, isPlausible = false;       ///< the size of the first differing gradient
    bool haveOtherSamples = false, haveOtherValues = false;
    bool haveOtherDraws = false; ///< another state of the generator from the initialisation on
    bool mayHaveOtherMasks = false;
    bool haveOtherStatistics = false;
    bool isScaled = false, isScaledInTail = false;
    double factor = 1;
    bool beginsAtInit = false, isInitRounding = false;
    bool isUnseen = false; ///< between rows that are far apart, anything may have happened
    std::string twinProblem;

    [[nodiscard]] bool differ(SettingRole role) const {
        return std::ranges::any_of(m_differences, [&](const auto& difference) { return difference.role == role; });
    }
    [[nodiscard]] std::string texts(SettingRole role) const {
        std::vector<std::string> all;
        for (const SettingDifference& difference : m_differences)
            if (difference.role == role)
                all.push_back(difference.text);
        return fmt::format("{}", fmt::join(all, ", "));
    }
    [[nodiscard]] bool areSettingsKnown() const { return m_facts.run && m_facts.reference; }
    [[nodiscard]] bool noSettingDiffers() const { return areSettingsKnown() && m_differences.empty(); }
    [[nodiscard]] bool hasTwins() const { return m_facts.twins; }

private:
    void add(std::string name, std::string text, std::string says = "",
             double value = std::numeric_limits<double>::quiet_NaN(),
             double threshold = std::numeric_limits<double>::quiet_NaN()) {
        evidence.push_back({std::move(name), std::move(text), std::move(says), value, threshold});
    }

    [[nodiscard]] double saturation() const {
        return std::isnan(m_facts.seedSpread) ? saturationWithoutSeeds : m_facts.seedSpread / 4;
    }

    /// The first row in which anything differs, or none where the evidence was not recorded.
    [[nodiscard]] const EvidenceRow* firstRow() const {
        if (!m_facts.recorded || !m_facts.comparison->first)
            return nullptr;
        const auto row =
            std::ranges::find(m_facts.recorded->rows, m_facts.comparison->first->step, &EvidenceRow::step);
        return row == m_facts.recorded->rows.end() ? nullptr : &*row;
    }

    void readFirst() {
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

    void readSettings() {
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

    void readRepeats() {
        if (m_facts.repeats == 0)
            return;
        if (m_facts.doRepeatsDiffer)
            add("repeats", "the same run, made again, has other bits: not all of this difference comes from the settings",
                "run-to-run");
        else
            add("repeats", "the same run, made again, has the same bits");
    }

    void readSamples() {
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

    void readRandomState() {
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

    void readModules() {
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

    void readFactor() {
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

    void readTwins() {
        if (!m_facts.twins)
            return;
        if (differ(SettingRole::Precision) && m_facts.run->train.dtype != m_facts.reference->train.dtype &&
            (m_facts.run->train.dtype == "float64" || m_facts.reference->train.dtype == "float64")) {
            twinProblem = "one of the two is in float64 itself";
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
            sayRounding        ? fmt::format("in float64 the {} shrinks to {:.1e} of what it is: rounding shrinks with "
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

    void readSize() {
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

    /// True if the weights before the step are known to be equal.
    [[nodiscard]] bool isStepOfItsOwn(std::int64_t step) const {
        return std::ranges::find(m_facts.comparison->steps, step - 1) != m_facts.comparison->steps.end();
    }

    /// How much larger the first update's difference is than its gradient's.
    void readAmplification() {
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

    void readSpread() {
        const std::size_t last = m_facts.comparison->rows() - 1;
        const double distance = m_facts.comparison->value(Metric::RelativeL2, last, 0);
        if (std::isnan(m_facts.seedSpread) || std::isnan(distance) || differ(SettingRole::Seed))
            return;
        add("spread",
            fmt::format("two seeds are {:.1e} apart; this difference is {:.1e} of that", m_facts.seedSpread,
                        distance / m_facts.seedSpread),
            "", distance / m_facts.seedSpread, 1);
    }

    const PairFacts& m_facts;
    std::vector<SettingDifference> m_differences;
    bool hasOtherOrder = false;
};

/// A kind, what it means here, and what to do.
struct Decision {
    std::string kind, what, todo;
};

std::string settled(const Reading& reading) {
    if (!reading.hasTwins() && reading.areSettingsKnown())
        return "float64 twins would settle it: driftscope-cli run STUDY_DIR --resume --twins.";
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
    if (reading.differ(SettingRole::Function) && reading.mayHaveOtherMasks)
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
