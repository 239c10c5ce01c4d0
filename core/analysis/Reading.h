// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a pair's facts one kind of evidence after the other, before anything is decided; private to the judge.
#pragma once

#include "analysis/Judge.h"
#include "analysis/SettingRole.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace driftscope {

/// Everything the evidence says, collected before anything is decided.
class Reading {
public:
    explicit Reading(const PairFacts& facts);

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
    /// "tail (scaled → unscaled), …": those of this role that differ.
    [[nodiscard]] std::string texts(SettingRole role) const;
    /// A setting that differs changes the function in every case, not only where micro-batches are unequal.
    [[nodiscard]] bool isFunctionCertain() const {
        return differ(SettingRole::Function) && (!haveConditionalSettingsOnly() || doConditionsHold());
    }
    [[nodiscard]] bool areSettingsKnown() const { return m_facts.run && m_facts.reference; }
    [[nodiscard]] bool noSettingDiffers() const { return areSettingsKnown() && m_differences.empty(); }
    [[nodiscard]] bool hasTwins() const { return m_facts.twins; }

private:
    void add(std::string name, std::string text, std::string says = "",
             double value = std::numeric_limits<double>::quiet_NaN(),
             double threshold = std::numeric_limits<double>::quiet_NaN());
    /// loss_normalization and tail change nothing unless the batch is split.
    [[nodiscard]] bool haveConditionalSettingsOnly() const;
    [[nodiscard]] bool doConditionsHold() const;
    [[nodiscard]] double saturation() const;
    /// The first row in which anything differs, or none where the evidence was not recorded.
    [[nodiscard]] const EvidenceRow* firstRow() const;
    void readFirst();
    void readSettings();
    void readRepeats();
    void readSamples();
    void readRandomState();
    void readModules();
    void readFactor();
    void readTwins();
    /// The twins have the same precision: what they differ in does not come from it.
    void readTwinsOfOtherPrecision();
    void readSize();
    /// True if the weights before the step are known to be equal.
    [[nodiscard]] bool isStepOfItsOwn(std::int64_t step) const;
    /// How much larger the first update's difference is than its gradient's.
    void readAmplification();
    void readSpread();

    const PairFacts& m_facts;
    std::vector<SettingDifference> m_differences;
    bool hasOtherOrder = false;
};

} // namespace driftscope
