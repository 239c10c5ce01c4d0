// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/Cure.h"

#include "analysis/DeltaDebugging.h"
#include "execution/CureTrials.h"
#include "execution/UncuredReason.h"
#include "recording/PrivateFolder.h"
#include "study/DataFiles.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace driftscope {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t fewestSteps = 3; ///< of a training in the search
constexpr std::int64_t stepsBeyond = 2; ///< the last first difference, for a remedy that only delays it
constexpr std::int64_t timedSteps = 20;
constexpr int mostRounds = 4;

std::vector<RunConfig> configsOf(const std::vector<CureSubject>& subjects) {
    std::vector<RunConfig> configs;
    for (const CureSubject& subject : subjects)
        configs.push_back(subject.config);
    return configs;
}

class Search {
public:
    Search(const CureStudy& study, const CureOptions& options, const fs::path& temporary, const std::stop_token& stop)
        : m_subjects(study.subjects), m_options(options), m_remedies(remediesFor(configsOf(m_subjects))),
          m_trainings(temporary, options.worker, options.cores),
          m_trials(m_subjects, m_remedies, m_trainings, options.cores, stop) {}

    void find(CureResult& result);

private:
    [[nodiscard]] Subset candidates() const;
    [[nodiscard]] std::int64_t firstSearchSteps() const;
    [[nodiscard]] std::int64_t longest() const;
    [[nodiscard]] bool isDiffering(std::size_t subject) const {
        return m_subjects[subject].recordedDifference.has_value();
    }
    void refuseImpossible();
    bool refuseFailing(const Subset& compared, const std::vector<std::optional<TrialOutcome>>& outcomes);
    void tryAll();
    void findMinimum();
    std::vector<TrialOutcome> verify();
    void giveUp(const std::vector<TrialOutcome>& outcomes);
    void measure(CureResult& result);
    void report(CureResult& result) const;
    void reportUncured(CureResult& result) const;

    std::vector<CureSubject> m_subjects;
    const CureOptions& m_options;
    std::vector<Remedy> m_remedies;
    Trainings m_trainings;
    CureTrials m_trials;
    Subset m_candidates;                           ///< remedies
    std::map<std::size_t, TrialOutcome> m_treated; ///< subjects with all candidates
    Subset m_curable;                              ///< subjects
    Subset m_kept;                                 ///< remedies
    std::map<std::size_t, std::string> m_unproved; ///< subjects equal in the search but not in the verification
    std::int64_t m_verifiedSteps = 0;
};

/// Remedies that make another training of some subject that can have them.
Subset Search::candidates() const {
    Subset found;
    for (std::size_t remedy = 0; remedy < m_remedies.size(); ++remedy)
        for (std::size_t subject = 0; subject < m_subjects.size(); ++subject)
            if (contentOf(m_trials.configOf(subject, {remedy})) != contentOf(m_subjects[subject].config)) {
                found.push_back(remedy);
                break;
            }
    return found;
}

std::int64_t Search::longest() const { return std::ranges::max(m_subjects, {}, &CureSubject::steps).steps; }

std::int64_t Search::firstSearchSteps() const {
    std::int64_t last = 0;
    for (const CureSubject& subject : m_subjects)
        last = std::max(last, subject.recordedDifference.value_or(0));
    return std::max(fewestSteps, last + stepsBeyond);
}

void Search::refuseImpossible() {
    for (CureSubject& subject : m_subjects)
        for (std::size_t remedy = 0; remedy < m_remedies.size(); ++remedy)
            try {
                (void)withRemedy(subject.config, m_remedies[remedy]);
            } catch (const StudyError& error) {
                subject.refusals[remedy] = error.what();
            }
}

/// Some remedies fail only when they are used. True if one was taken from a subject.
bool Search::refuseFailing(const Subset& compared, const std::vector<std::optional<TrialOutcome>>& outcomes) {
    std::vector<CureTrials::Treatment> treatments;
    for (std::size_t i = 0; i < compared.size(); ++i) {
        if (!outcomes[i] || outcomes[i]->problem.empty())
            continue;
        for (const std::size_t subject : {compared[i], m_subjects[compared[i]].reference})
            for (const std::size_t remedy : m_candidates)
                if (!m_subjects[subject].refusals.contains(remedy))
                    treatments.push_back({subject, {remedy}});
    }
    if (treatments.empty())
        return false;
    const std::vector<std::string> problems = m_trials.problemsOf(treatments);
    bool hasRefused = false;
    for (std::size_t i = 0; i < treatments.size(); ++i) {
        const auto& [subject, remedies] = treatments[i];
        // what fails without any remedy is not this one's fault
        if (!problems[i].empty() && m_trials.problemsOf({{subject, {}}}).front().empty())
            hasRefused |= m_subjects[subject].refusals.emplace(remedies.front(), problems[i]).second;
    }
    return hasRefused;
}

/// Which subjects all remedies together make identical: no fewer can do more.
void Search::tryAll() {
    Subset compared;
    for (std::size_t i = 0; i < m_subjects.size(); ++i)
        if (!m_subjects[i].isReference())
            compared.push_back(i);
    std::vector<std::optional<TrialOutcome>> outcomes;
    do {
        m_candidates = candidates();
        m_options.progress(m_candidates.empty()
                               ? std::string("no remedy changes these runs: training them again as they are")
                               : fmt::format("trying all {} remedies together", m_candidates.size()));
        outcomes = m_trials.compare(compared, m_candidates, /*endsEarly=*/false);
    } while (refuseFailing(compared, outcomes));
    m_curable.clear();
    for (std::size_t i = 0; i < compared.size(); ++i) {
        m_treated[compared[i]] = *outcomes[i];
        if (outcomes[i]->isIdentical())
            m_curable.push_back(compared[i]);
    }
}

void Search::findMinimum() {
    const MinimalSubset minimal = minimalSubset(m_candidates.size(), [&](const Subset& chosen) {
        Subset remedies;
        std::vector<std::string> names;
        for (const std::size_t i : chosen) {
            remedies.push_back(m_candidates[i]);
            names.push_back(m_remedies[m_candidates[i]].name);
        }
        m_options.progress(chosen.empty() ? std::string("trying without any remedy")
                                          : fmt::format("trying {} of {} remedies: {}", chosen.size(),
                                                        m_candidates.size(), fmt::join(names, ", ")));
        return std::ranges::all_of(m_trials.compare(m_curable, remedies, /*endsEarly=*/true),
                                   [](const auto& outcome) { return outcome && outcome->isIdentical(); });
    });
    m_kept.clear();
    for (const std::size_t i : minimal.kept.value_or(Subset{}))
        m_kept.push_back(m_candidates[i]);
}

std::vector<TrialOutcome> Search::verify() {
    std::vector<std::string> names;
    for (const std::size_t remedy : m_kept)
        names.push_back(m_remedies[remedy].name);
    m_verifiedSteps = 0;
    for (const std::size_t subject : m_curable)
        m_verifiedSteps = std::max(m_verifiedSteps, m_subjects[subject].steps);
    m_options.progress(fmt::format("verifying {}: {} runs and their references, {} steps",
                                   names.empty() ? "without any remedy" : fmt::format("{}", fmt::join(names, ", ")),
                                   m_curable.size(), m_verifiedSteps));
    return m_trials.verify(m_curable, m_kept);
}

/// Takes those that the verification found different from the curable ones.
void Search::giveUp(const std::vector<TrialOutcome>& outcomes) {
    Subset proved;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].isIdentical())
            proved.push_back(m_curable[i]);
        else
            m_unproved[m_curable[i]] =
                outcomes[i].problem.empty()
                    ? fmt::format(
                          "equal in the search, but not at step {} of the verification: the run is not repeatable here",
                          *outcomes[i].firstDifference)
                    : outcomes[i].problem;
    }
    m_curable = std::move(proved);
}

void Search::find(CureResult& result) {
    refuseImpossible();
    std::int64_t steps = firstSearchSteps();
    bool isShared = true; // until a verification speaks against it
    for (int round = 1;; ++round) {
        m_trials.setSearch(steps, isShared);
        tryAll();
        if (std::ranges::none_of(m_curable, [&](std::size_t subject) { return isDiffering(subject); })) {
            m_kept.clear(); // nothing to gain
            break;
        }
        findMinimum();
        const std::vector<TrialOutcome> outcomes = verify();
        result.isVerified = std::ranges::all_of(outcomes, &TrialOutcome::isIdentical);
        if (result.isVerified)
            break;
        if (round == mostRounds || (steps >= longest() && !isShared)) {
            giveUp(outcomes);
            result.isVerified =
                std::ranges::any_of(m_curable, [&](std::size_t subject) { return isDiffering(subject); });
            if (!result.isVerified)
                m_kept.clear();
            break;
        }
        isShared = false;
        steps *= 2;
        for (const TrialOutcome& outcome : outcomes)
            steps = std::max(steps, outcome.firstDifference.value_or(0) + stepsBeyond);
        m_options.progress(fmt::format("the verification found a difference: searching again with {} steps", steps));
    }
    measure(result);
    report(result);
}

/// Both one after the other, while nothing else of ours runs.
void Search::measure(CureResult& result) {
    if (!result.isVerified || m_kept.empty())
        return;
    const auto first = std::ranges::find_if(m_curable, [&](std::size_t subject) { return isDiffering(subject); });
    if (first == m_curable.end())
        return;
    m_options.progress("measuring the slowdown");
    const std::size_t reference = m_subjects[*first].reference;
    const double without = m_trials.stepSeconds(reference, {}, timedSteps);
    const double with = m_trials.stepSeconds(reference, m_kept, timedSteps);
    if (std::isfinite(without) && std::isfinite(with) && without > 0) {
        result.secondsWithout = without;
        result.secondsWith = with;
    }
}

void Search::report(CureResult& result) const {
    if (result.isVerified)
        for (const std::size_t subject : m_curable)
            (isDiffering(subject) ? result.cured : result.unharmed).push_back(m_subjects[subject].config.id);
    for (const std::size_t remedy : m_kept)
        result.remedies.push_back(m_remedies[remedy]);
    for (std::size_t remedy = 0; remedy < m_remedies.size(); ++remedy)
        for (const CureSubject& subject : m_subjects)
            if (const auto refusal = subject.refusals.find(remedy); refusal != subject.refusals.end()) {
                result.refused.push_back({m_remedies[remedy].key, m_remedies[remedy].name, refusal->second});
                break;
            }
    reportUncured(result);
    result.verifiedSteps = result.isVerified ? m_verifiedSteps : 0;
    result.trainings = m_trainings.finished();
    if (result.isVerified && m_kept.empty() && !result.cured.empty())
        result.notes.emplace_back(
            "trained again here, the runs are identical without any remedy: what was recorded came from "
            "another machine or environment, or is not repeatable");
}

void Search::reportUncured(CureResult& result) const {
    for (const auto& [subject, outcome] : m_treated) {
        const bool isCurable = result.isVerified && std::ranges::find(m_curable, subject) != m_curable.end();
        // where no cure was found, runs that were identical from the start need none
        if (isCurable ||
            (!isDiffering(subject) && (outcome.isIdentical() || !result.isVerified) && !m_unproved.contains(subject)))
            continue;
        const CureSubject& run = m_subjects[subject];
        UncuredRun uncured{.id = run.config.id, .label = label(run.config), .axes = {}, .reason = outcome.problem};
        std::vector<std::string> refusals;
        for (const auto& [remedy, reason] : run.refusals)
            refusals.push_back(fmt::format("{} is not available: {}", m_remedies[remedy].name, reason));
        UncuredReason why = whyUncured(m_trials.configOf(subject, m_candidates),
                                       m_trials.configOf(run.reference, m_candidates), refusals);
        uncured.axes = std::move(why.axes);
        if (const auto unproved = m_unproved.find(subject); unproved != m_unproved.end())
            uncured.reason = unproved->second;
        else if (uncured.reason.empty())
            uncured.reason = std::move(why.text);
        result.uncured.push_back(std::move(uncured));
    }
}

} // namespace

std::optional<CureResult> findCure(const StudyFolder& folder, const CureOptions& options, const std::stop_token& stop) {
    CureStudy study = readCureStudy(folder);
    CureResult result;
    result.leftOut = study.leftOut;
    if (std::ranges::none_of(study.subjects,
                             [](const CureSubject& run) { return run.recordedDifference.has_value(); })) {
        result.isIdentical = result.isVerified = true;
        for (const CureSubject& run : study.subjects)
            if (!run.isReference())
                result.unharmed.push_back(run.config.id);
        return result;
    }
    for (const CureSubject& run : study.subjects) {
        requireDataFiles(run.config.data);
        requireModelFile(run.config.model);
    }
    const PrivateFolder temporary(fs::canonical(folder.path).parent_path(), "driftscope-cure");
    try {
        Search(study, options, temporary.path(), stop).find(result);
    } catch (const Stopped&) {
        return std::nullopt;
    }
    std::vector<std::string> axes;
    for (const Axis& axis : folder.study.axes)
        axes.push_back(axis.key);
    result.prescription = prescribe(result.remedies, axes);
    return result;
}

} // namespace driftscope
