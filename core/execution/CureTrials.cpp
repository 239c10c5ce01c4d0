// SPDX-License-Identifier: GPL-3.0-or-later
#include "execution/CureTrials.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace driftscope {
namespace {

TrialOutcome outcomeOf(const Trained& run, const Trained& reference) {
    if (!run.problem.empty())
        return {{}, run.problem};
    if (!reference.problem.empty())
        return {{}, fmt::format("its reference: {}", reference.problem)};
    return {firstDifferentStep(run.digests, reference.digests), ""};
}

double medianOf(std::vector<double> values) {
    if (values.empty())
        return std::numeric_limits<double>::quiet_NaN();
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

} // namespace

CureTrials::CureTrials(const std::vector<CureSubject>& subjects, const std::vector<Remedy>& remedies,
                       Trainings& trainings, int jobs, std::stop_token stop)
    : m_subjects(subjects), m_remedies(remedies), m_trainings(trainings), m_jobs(jobs), m_stop(std::move(stop)) {}

void CureTrials::throwIfStopped() const {
    if (m_stop.stop_requested())
        throw Stopped();
}

void CureTrials::setSearch(std::int64_t steps, bool isShared) {
    m_steps = steps;
    m_isShared = isShared;
    m_known.clear();
}

RunConfig CureTrials::configOf(std::size_t subject, const Subset& remedies) const {
    RunConfig config = m_subjects[subject].config;
    for (const std::size_t remedy : remedies)
        if (!m_subjects[subject].refusals.contains(remedy))
            config = withRemedy(std::move(config), m_remedies[remedy]);
    return config;
}

RunConfig CureTrials::briefConfig(const Treatment& treatment) const {
    RunConfig config = configOf(treatment.subject, treatment.remedies);
    config.train.steps = std::min(m_steps, m_subjects[treatment.subject].steps);
    config.train.epochs.reset();
    return config;
}

std::string CureTrials::keyOf(const Treatment& treatment) const {
    std::string key = contentOf(briefConfig(treatment));
    if (!m_isShared)
        key += fmt::format(" of subject {}", treatment.subject);
    return key;
}

void CureTrials::train(const std::vector<Treatment>& treatments, const std::function<bool()>& goesOn) {
    std::set<std::string> taken;
    std::vector<std::string> keys;
    std::vector<RunConfig> configs;
    for (const Treatment& treatment : treatments) {
        std::string key = keyOf(treatment);
        if (m_known.contains(key) || !taken.insert(key).second)
            continue;
        keys.push_back(std::move(key));
        configs.push_back(briefConfig(treatment));
    }
    if (!goesOn())
        return;
    m_trainings.run(
        std::move(configs), m_jobs,
        [&](std::size_t position, Trained trained) {
            m_known[keys[position]] = std::move(trained);
            return goesOn();
        },
        m_stop);
    throwIfStopped();
}

std::vector<std::optional<TrialOutcome>> CureTrials::compare(const Subset& subjects, const Subset& remedies,
                                                             bool endsEarly) {
    std::vector<Treatment> treatments;
    for (const std::size_t subject : subjects) // references first: equal configurations keep that mark
        treatments.push_back({m_subjects[subject].reference, remedies});
    for (const std::size_t subject : subjects)
        treatments.push_back({subject, remedies});
    std::vector<std::string> keys;
    for (const Treatment& treatment : treatments)
        keys.push_back(keyOf(treatment));
    const auto outcome = [&](std::size_t i) -> std::optional<TrialOutcome> {
        const auto reference = m_known.find(keys[i]), run = m_known.find(keys[subjects.size() + i]);
        if (reference == m_known.end() || run == m_known.end())
            return std::nullopt;
        return outcomeOf(run->second, reference->second);
    };
    const auto isUndecided = [&] {
        for (std::size_t i = 0; endsEarly && i < subjects.size(); ++i)
            if (const auto known = outcome(i); known && !known->isIdentical())
                return false;
        return true;
    };
    train(treatments, isUndecided);
    std::vector<std::optional<TrialOutcome>> outcomes;
    for (std::size_t i = 0; i < subjects.size(); ++i)
        outcomes.push_back(outcome(i));
    return outcomes;
}

std::vector<std::string> CureTrials::problemsOf(const std::vector<Treatment>& treatments) {
    train(treatments, [] { return true; });
    std::vector<std::string> problems;
    for (const Treatment& treatment : treatments)
        problems.push_back(m_known.at(keyOf(treatment)).problem);
    return problems;
}

std::vector<TrialOutcome> CureTrials::verify(const Subset& subjects, const Subset& remedies) {
    std::set<std::size_t> wanted(subjects.begin(), subjects.end());
    for (const std::size_t subject : subjects)
        wanted.insert(m_subjects[subject].reference);
    const std::vector<std::size_t> order(wanted.begin(), wanted.end());
    std::vector<RunConfig> configs;
    for (const std::size_t subject : order)
        configs.push_back(configOf(subject, remedies));
    std::map<std::size_t, Trained> trained;
    m_trainings.run(
        std::move(configs), m_jobs,
        [&](std::size_t position, Trained result) {
            trained[order[position]] = std::move(result);
            return true;
        },
        m_stop);
    throwIfStopped();
    std::vector<TrialOutcome> outcomes;
    for (const std::size_t subject : subjects)
        outcomes.push_back(outcomeOf(trained.at(subject), trained.at(m_subjects[subject].reference)));
    return outcomes;
}

double CureTrials::stepSeconds(std::size_t subject, const Subset& remedies, std::int64_t steps) {
    RunConfig config = configOf(subject, remedies);
    config.train.steps = std::min(steps, m_subjects[subject].steps);
    config.train.epochs.reset();
    double seconds = std::numeric_limits<double>::quiet_NaN();
    m_trainings.run(
        {std::move(config)}, 1,
        [&](std::size_t, Trained trained) {
            seconds = medianOf(std::move(trained.stepSeconds));
            return true;
        },
        m_stop);
    throwIfStopped();
    return seconds;
}

} // namespace driftscope
