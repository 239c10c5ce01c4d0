// SPDX-License-Identifier: GPL-3.0-or-later
// Trains a study's runs with remedies applied, and says which are bit-identical to their references then.
#pragma once

#include "analysis/DeltaDebugging.h"
#include "execution/CureStudy.h"
#include "execution/Remedies.h"
#include "execution/Trainings.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

/// How a run stands to its reference.
struct TrialOutcome {
    std::optional<std::int64_t> firstDifference; ///< step
    std::string problem;                         ///< why one of the two could not be trained
    [[nodiscard]] bool isIdentical() const { return !firstDifference && problem.empty(); }
};

/// A stop was asked for.
struct Stopped {};

/// Subjects and remedies are named by position. What it borrows outlives it.
class CureTrials {
public:
    CureTrials(const std::vector<CureSubject>& subjects, const std::vector<Remedy>& remedies, Trainings& trainings,
               int jobs, std::stop_token stop);

    /// The subject with those of the remedies that it can have.
    [[nodiscard]] RunConfig configOf(std::size_t subject, const Subset& remedies) const;

    /// Steps of the trainings of compare() and problemsOf(), from now on; what is known of others is forgotten.
    /// isShared: equal configurations are trained once, which takes for granted that a training is repeatable.
    void setSearch(std::int64_t steps, bool isShared);

    /// How each of the subjects, none of them a reference, stands with these remedies. endsEarly: the first that is
    /// not identical ends it, and those not yet known have no outcome. Throws Stopped.
    std::vector<std::optional<TrialOutcome>> compare(const Subset& subjects, const Subset& remedies, bool endsEarly);

    /// Why trainings fail, each with one set of remedies; "" where they don't. Throws Stopped.
    struct Treatment {
        std::size_t subject;
        Subset remedies;
    };
    std::vector<std::string> problemsOf(const std::vector<Treatment>& treatments);

    /// The proof: all subjects and their references, each a process of its own, at their full number of steps.
    /// Throws Stopped.
    std::vector<TrialOutcome> verify(const Subset& subjects, const Subset& remedies);

    /// Median seconds of a step of the subject, which runs alone; NaN if it fails. Throws Stopped.
    double stepSeconds(std::size_t subject, const Subset& remedies, std::int64_t steps);

private:
    /// Trains what is not known yet; goesOn: asked after each, whether the others are still wanted.
    void train(const std::vector<Treatment>& treatments, const std::function<bool()>& goesOn);
    [[nodiscard]] RunConfig briefConfig(const Treatment& treatment) const;
    [[nodiscard]] std::string keyOf(const Treatment& treatment) const;
    void throwIfStopped() const;

    const std::vector<CureSubject>& m_subjects;
    const std::vector<Remedy>& m_remedies;
    Trainings& m_trainings;
    int m_jobs;
    std::stop_token m_stop;
    std::int64_t m_steps = 1;
    bool m_isShared = true;
    std::map<std::string, Trained> m_known;
};

} // namespace driftscope
