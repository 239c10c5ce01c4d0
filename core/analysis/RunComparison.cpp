// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/RunComparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

namespace driftscope {

std::string unrecordedBefore(const FirstDivergence& first) {
    const std::int64_t from = first.after + 1, to = first.step - 1;
    if (from > to)
        return "";
    return from == to ? fmt::to_string(from) : fmt::format("{} to {}", from, to);
}

std::string toText(const FirstDivergence& first) {
    std::string text = fmt::format("step {}", first.step);
    if (const std::string gap = unrecordedBefore(first); !gap.empty())
        text += fmt::format(" ({} {} not recorded)", gap, first.after + 2 == first.step ? "is" : "are");
    text += fmt::format(", phase {}", first.phase);
    if (!first.tensor.empty())
        text += fmt::format(", {}", first.tensor);
    return text;
}

std::optional<std::size_t> RunComparison::findScope(const Scope& scope) const {
    const auto found = std::ranges::find(scopes, scope);
    return found == scopes.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - scopes.begin()));
}

namespace {

/// `weights`: position in `tensors` of the first whose weights differ.
std::optional<FirstDivergence> firstDifference(const RunReader& run, const RunReader& reference, std::size_t row,
                                               std::size_t referenceRow,
                                               std::span<const std::pair<std::size_t, std::size_t>> tensors,
                                               std::optional<std::size_t> weights) {
    const std::int64_t step = run.steps()[row];
    std::optional<FirstDivergence> first;
    if (weights)
        first = {step, step == 0 ? "init" : "weights", run.parameters()[tensors[*weights].first].name};
    if (step == 0)
        return first;
    for (const auto& [i, j] : tensors) {
        const auto gradient = run.gradientDigest(i, row), other = reference.gradientDigest(j, referenceRow);
        if (gradient && other && *gradient != *other) {
            first = {step, "gradient", run.parameters()[i].name};
            break;
        }
    }
    // a batch in another order that gives the same gradient is no divergence
    const auto batch = run.batchDigest(row), referenceBatch = reference.batchDigest(referenceRow);
    if (first && batch && referenceBatch && *batch != *referenceBatch)
        first = {step, "batch", ""};
    return first;
}

} // namespace

struct RunComparer::RowResult {
    RowMeasurement measured;
    std::optional<FirstDivergence> first;
};

RunComparer::RunComparer(const RunReader& run, const RunReader& reference, ComparisonOptions options)
    : m_run(run), m_reference(reference), m_options(options) {
    for (std::size_t i = 0; i < run.parameters().size(); ++i) {
        const TensorInfo& tensor = run.parameters()[i];
        const auto other = std::ranges::find(reference.parameters(), tensor.name, &TensorInfo::name);
        if (other == reference.parameters().end())
            throw RecordingError(fmt::format("{}: has {}, which {} lacks: not two runs of one model",
                                             run.file().string(), tensor.name, reference.file().string()));
        if (other->shape != tensor.shape)
            throw RecordingError(fmt::format("{}: {} has {} elements, in {} it has {}: not two runs of one model",
                                             run.file().string(), tensor.name, tensor.elements(),
                                             reference.file().string(), other->elements()));
        m_tensors.emplace_back(i, static_cast<std::size_t>(other - reference.parameters().begin()));
    }
    if (run.parameters().size() != reference.parameters().size())
        throw RecordingError(fmt::format("{} has {} tensors, {} has {}: not two runs of one model",
                                         run.file().string(), run.parameters().size(), reference.file().string(),
                                         reference.parameters().size()));
    m_result.scopes = scopesOf(run.parameters());
    const bool areSamples =
        run.weightsLevel() == WeightsLevel::Sample && reference.weightsLevel() == WeightsLevel::Sample &&
        run.config() && reference.config() && run.config()->record.sampleSize == reference.config()->record.sampleSize;
    if (run.weightsLevel() == WeightsLevel::Full && reference.weightsLevel() == WeightsLevel::Full)
        m_source = Source::Values;
    else if (areSamples)
        m_source = Source::Samples;
    else if (!run.comparedWith().empty() && run.comparedWith() == reference.runId())
        m_source = Source::Recording;
    else
        m_source = Source::Digests;

    // both lists of steps rise
    const auto steps = run.steps(), others = reference.steps();
    for (std::size_t i = 0, j = 0; i < steps.size() && j < others.size();) {
        if (steps[i] == others[j])
            m_pairs.push_back({i++, j++});
        else
            ++(steps[i] < others[j] ? i : j);
    }
    if (options.lastUpTo) {
        const auto rows = static_cast<std::size_t>(run.progress().rows);
        const auto referenceRows = static_cast<std::size_t>(reference.progress().rows);
        std::erase_if(m_pairs, [&](Pair pair) {
            return steps[pair.row] > *options.lastUpTo || pair.row >= rows || pair.referenceRow >= referenceRows;
        });
        if (!m_pairs.empty())
            m_pairs = {m_pairs.back()};
    }
}

bool RunComparer::isMixed(std::size_t tensor) const {
    const auto [i, j] = m_tensors[tensor];
    return m_run.parameters()[i].dtype != m_reference.parameters()[j].dtype;
}

bool RunComparer::hasEqualDigest(std::size_t tensor, Pair pair) const {
    const auto [i, j] = m_tensors[tensor];
    return m_run.weightDigest(i, pair.row) == m_reference.weightDigest(j, pair.referenceRow);
}

bool RunComparer::hasEqualDigests(Pair pair) const {
    if (!m_run.hasDigests() || !m_reference.hasDigests())
        return false;
    for (std::size_t t = 0; t < m_tensors.size(); ++t)
        if (!hasEqualDigest(t, pair))
            return false;
    return true;
}

void RunComparer::compareRow(Pair pair, RowResult& out) const {
    RowMeasurement& measured = out.measured;
    const bool isEqual = (m_options.trustsDigests || m_source != Source::Values) && hasEqualDigests(pair);
    if (isEqual || m_source == Source::Digests)
        compareDigests(pair, measured);
    else if (m_source == Source::Recording)
        readRecording(pair, measured);
    else
        compareValues(pair, measured);
    std::optional<std::size_t> first;
    for (std::size_t t = 0; t < m_tensors.size() && !first; ++t)
        // numbers of two types may be equal, their bits never are; NaN: changed, not known by how much
        if (isMixed(t) || !(measured.ofTensor(Metric::Changed, t, m_tensors.size()) == 0))
            first = t;
    out.first = firstDifference(m_run, m_reference, pair.row, pair.referenceRow, m_tensors, first);
}

/// Zero where bits are equal, not known where they are not.
void RunComparer::compareDigests(Pair pair, RowMeasurement& out) const {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    for (std::vector<double>& values : out.values)
        values.resize(m_result.scopes.size());
    const std::size_t firstTensor = m_result.scopes.size() - m_tensors.size();
    for (std::size_t t = 0; t < m_tensors.size(); ++t) {
        if (hasEqualDigest(t, pair)) {
            out.ulpHistogram[0] += m_run.parameters()[m_tensors[t].first].elements();
            continue;
        }
        const Scope layer{ScopeKind::Layer, std::string(layerOf(m_result.scopes[firstTensor + t].name))};
        for (const std::size_t scope : {std::size_t{0}, *m_result.findScope(layer), firstTensor + t})
            for (std::vector<double>& values : out.values)
                values[scope] = unknown;
    }
}

void RunComparer::readRecording(Pair pair, RowMeasurement& out) const {
    for (const MetricInfo& info : metrics()) {
        std::vector<double>& values = out.values[static_cast<std::size_t>(info.metric)];
        values = m_run.recordedMetric(info.key, pair.row);
        if (values.size() != m_result.scopes.size())
            throw RecordingError(fmt::format("{}: /comparison/{} has {} numbers a row, the model has {} scopes",
                                             m_run.file().string(), info.key, values.size(), m_result.scopes.size()));
    }
    const std::vector<std::uint64_t> histogram = m_run.recordedHistogram(pair.row);
    std::copy_n(histogram.begin(), std::min(histogram.size(), ulpBinCount), out.ulpHistogram.begin());
}

void RunComparer::compareValues(Pair pair, RowMeasurement& out) const {
    std::vector<TensorRow> ours, theirs;
    for (const auto& [i, j] : m_tensors) {
        ours.push_back(m_run.weights(i, pair.row));
        theirs.push_back(m_reference.weights(j, pair.referenceRow));
    }
    out = measureRow(m_run.parameters(), ours, theirs, m_options.hasPercentiles);
    std::vector<double>& changed = out.values[static_cast<std::size_t>(Metric::Changed)];
    for (std::size_t t = 0; t < m_tensors.size(); ++t) {
        const TensorInfo& tensor = m_run.parameters()[m_tensors[t].first];
        const std::size_t scope = m_result.scopes.size() - m_tensors.size() + t;
        if (isMixed(t) || (!m_run.hasDigests() && !m_reference.hasDigests()))
            continue;
        const bool isEqual = hasEqualDigest(t, pair);
        // elements that a sample leaves out may differ
        const bool mayDiffer = m_source == Source::Samples;
        if (isEqual != (changed[scope] == 0) && !(mayDiffer && !isEqual))
            throw RecordingError(fmt::format("{} or {}: the digest of {} at step {} contradicts its values: one of "
                                             "the files is damaged",
                                             m_run.file().string(), m_reference.file().string(), tensor.name,
                                             m_run.steps()[pair.row]));
        if (!isEqual && changed[scope] == 0) { // one element at least, of those not kept
            const Scope layer{ScopeKind::Layer, std::string(layerOf(tensor.name))};
            for (const std::size_t s : {scope, *m_result.findScope(layer), std::size_t{0}})
                changed[s] = std::max(changed[s], 1.0 / static_cast<double>(tensor.elements()));
        }
    }
}

void RunComparer::append(std::int64_t step, const RowResult& row) {
    if (!m_result.first && row.first) {
        m_result.first = row.first;
        m_result.first->after = m_result.steps.empty() ? -1 : m_result.steps.back();
    }
    m_result.steps.push_back(step);
    m_result.ulpHistograms.push_back(row.measured.ulpHistogram);
    for (std::size_t metric = 0; metric < metricCount; ++metric)
        m_result.values[metric].insert(m_result.values[metric].end(), row.measured.values[metric].begin(),
                                       row.measured.values[metric].end());
}

bool RunComparer::update(int threads, std::stop_token stop) {
    const auto rows = static_cast<std::size_t>(m_run.progress().rows);
    const auto referenceRows = static_cast<std::size_t>(m_reference.progress().rows);
    const std::size_t done = m_result.rows();
    std::size_t end = done;
    while (end < m_pairs.size() && m_pairs[end].row < rows && m_pairs[end].referenceRow < referenceRows)
        ++end;

    // Each row on a thread, in order: those taken when a stop is asked for are finished, and all before them.
    const auto width = static_cast<std::size_t>(std::max(threads, 1));
    std::vector<RowResult> results(end - done);
    std::atomic<std::size_t> next = 0;
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        while (!stop.stop_requested()) {
            const std::size_t i = next++;
            if (i >= results.size())
                return;
            try {
                compareRow(m_pairs[done + i], results[i]);
            } catch (...) {
                const std::lock_guard held(mutex);
                failure = std::current_exception();
                next = results.size();
            }
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (std::size_t i = 1; i < std::min(width, results.size()); ++i)
            helpers.emplace_back(work);
        work();
    }
    if (failure)
        std::rethrow_exception(failure);
    for (std::size_t i = 0; i < std::min(next.load(), results.size()); ++i)
        append(m_run.steps()[m_pairs[done + i].row], results[i]);
    return m_result.rows() > done;
}

RunComparison compareRuns(const RunReader& run, const RunReader& reference, int threads, ComparisonOptions options) {
    RunComparer comparer(run, reference, options);
    comparer.update(threads);
    return comparer.result();
}

} // namespace driftscope
