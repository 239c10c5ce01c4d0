// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/RunComparison.h"

#include "analysis/UlpCounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace driftscope {

std::optional<std::size_t> RunComparison::findScope(const Scope& scope) const {
    const auto found = std::ranges::find(scopes, scope);
    return found == scopes.end() ? std::nullopt
                                 : std::optional(static_cast<std::size_t>(found - scopes.begin()));
}

namespace {

/// Sums, and the counts that percentiles need, where these are asked for.
struct Measure {
    Divergence divergence;
    UlpCounts ulps;

    void merge(const Measure& part) {
        driftscope::merge(divergence, part.divergence);
        ulps.merge(part.ulps);
    }
};

template <class To>
std::vector<To> converted(const TensorRow& row) {
    std::vector<To> values;
    if (row.dtype() == DType::Float32)
        values.assign(row.values<float>().begin(), row.values<float>().end());
    else
        std::ranges::transform(row.values<double>(), std::back_inserter(values),
                               [](double value) { return static_cast<To>(value); });
    return values;
}

template <class T>
Measure measure(std::span<const T> a, std::span<const T> r, bool hasPercentiles) {
    Measure result;
    result.divergence = measureDivergence(a, r);
    if (hasPercentiles)
        result.ulps.add(a, r, result.divergence);
    return result;
}

/// Tensors of different types: distances in float64, ULP in those of the coarser type, float32.
Measure measureMixed(const TensorRow& a, const TensorRow& r, bool hasPercentiles) {
    const auto wideA = converted<double>(a), wideR = converted<double>(r);
    const auto narrowA = converted<float>(a), narrowR = converted<float>(r);
    Measure result = measure<float>(narrowA, narrowR, hasPercentiles);
    Divergence wide = measureDivergence(std::span<const double>(wideA), std::span<const double>(wideR));
    wide.ulpMax = result.divergence.ulpMax;
    wide.ulpSum = result.divergence.ulpSum;
    wide.ulpHistogram = result.divergence.ulpHistogram;
    result.divergence = wide;
    return result;
}

Measure measure(const TensorRow& a, const TensorRow& r, bool hasPercentiles) {
    if (a.dtype() != r.dtype())
        return measureMixed(a, r, hasPercentiles);
    return a.dtype() == DType::Float32 ? measure(a.values<float>(), r.values<float>(), hasPercentiles)
                                       : measure(a.values<double>(), r.values<double>(), hasPercentiles);
}

/// `weights`: position in `tensors` of the first whose weights differ.
std::optional<FirstDivergence> firstDifference(const RunReader& run, const RunReader& reference, std::size_t row,
                                               std::size_t referenceRow,
                                               std::span<const std::pair<std::size_t, std::size_t>> tensors,
                                               std::optional<std::size_t> weights) {
    const std::int64_t step = run.steps()[row];
    if (step > 0) {
        const auto batch = run.batchDigest(row), referenceBatch = reference.batchDigest(referenceRow);
        if (batch && referenceBatch && *batch != *referenceBatch)
            return FirstDivergence{step, "batch", ""};
        for (const auto& [i, j] : tensors) {
            const auto gradient = run.gradientDigest(i, row), other = reference.gradientDigest(j, referenceRow);
            if (gradient && other && *gradient != *other)
                return FirstDivergence{step, "gradient", run.parameters()[i].name};
        }
    }
    if (!weights)
        return std::nullopt;
    return FirstDivergence{step, step == 0 ? "init" : "weights", run.parameters()[tensors[*weights].first].name};
}

} // namespace

struct RunComparer::RowResult {
    std::array<std::vector<double>, metricCount> values; ///< per metric, per scope
    std::array<std::uint64_t, ulpBinCount> ulpHistogram{};
    std::optional<FirstDivergence> first;

    void set(std::size_t scope, const Measure& measured, bool hasPercentiles) {
        const auto at = [&](Metric metric) -> double& { return values[static_cast<std::size_t>(metric)][scope]; };
        for (const MetricInfo& info : metrics())
            at(info.metric) = valueOf(measured.divergence, info.metric);
        if (hasPercentiles) {
            at(Metric::UlpP50) = static_cast<double>(measured.ulps.percentile(50));
            at(Metric::UlpP99) = static_cast<double>(measured.ulps.percentile(99));
        }
    }
};

RunComparer::RunComparer(const RunReader& run, const RunReader& reference, ComparisonOptions options)
    : m_run(run), m_reference(reference), m_options(options) {
    std::vector<std::string> layers;
    std::vector<std::string> names;
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
        const std::string layer(layerOf(tensor.name));
        const auto known = std::ranges::find(layers, layer);
        m_layerOf.push_back(static_cast<std::size_t>(known - layers.begin()));
        if (known == layers.end())
            layers.push_back(layer);
        names.push_back(tensor.name);
    }
    if (run.parameters().size() != reference.parameters().size())
        throw RecordingError(fmt::format("{} has {} tensors, {} has {}: not two runs of one model",
                                         run.file().string(), run.parameters().size(), reference.file().string(),
                                         reference.parameters().size()));
    m_layers = layers.size();
    m_result.scopes.push_back({ScopeKind::Model, ""});
    for (const std::string& layer : layers)
        m_result.scopes.push_back({ScopeKind::Layer, layer});
    for (const std::string& name : names)
        m_result.scopes.push_back({ScopeKind::Tensor, name});

    // both lists of steps rise
    const auto steps = run.steps(), others = reference.steps();
    for (std::size_t i = 0, j = 0; i < steps.size() && j < others.size();) {
        if (steps[i] == others[j])
            m_pairs.push_back({i++, j++});
        else
            ++(steps[i] < others[j] ? i : j);
    }
}

bool RunComparer::hasEqualDigests(Pair pair) const {
    return m_run.hasDigests() && m_reference.hasDigests() && std::ranges::all_of(m_tensors, [&](const auto& tensor) {
               return m_run.weightDigest(tensor.first, pair.row) ==
                      m_reference.weightDigest(tensor.second, pair.referenceRow);
           });
}

void RunComparer::compareRow(Pair pair, RowResult& out) const {
    for (std::vector<double>& values : out.values)
        values.resize(m_result.scopes.size());
    if (!m_options.trustsDigests || !hasEqualDigests(pair)) {
        measureRow(pair, out);
        return;
    }
    for (const TensorInfo& tensor : m_run.parameters())
        out.ulpHistogram[0] += tensor.elements();
    out.first = firstDifference(m_run, m_reference, pair.row, pair.referenceRow, m_tensors, std::nullopt);
}

void RunComparer::measureRow(Pair pair, RowResult& out) const {
    const bool hasPercentiles = m_options.hasPercentiles;
    Measure model;
    std::vector<Measure> layers(m_layers);
    std::optional<std::size_t> first;
    for (std::size_t t = 0; t < m_tensors.size(); ++t) {
        const auto [i, j] = m_tensors[t];
        const TensorRow a = m_run.weights(i, pair.row), r = m_reference.weights(j, pair.referenceRow);
        const Measure measured = measure(a, r, hasPercentiles);
        const bool isMixed = a.dtype() != r.dtype();
        const bool differs = isMixed || measured.divergence.changed != 0;
        if (!isMixed && (m_run.hasDigests() || m_reference.hasDigests()) &&
            differs == (m_run.weightDigest(i, pair.row) == m_reference.weightDigest(j, pair.referenceRow)))
            throw RecordingError(fmt::format("{} or {}: the digest of {} at step {} contradicts its values: one of "
                                             "the files is damaged",
                                             m_run.file().string(), m_reference.file().string(),
                                             m_run.parameters()[i].name, m_run.steps()[pair.row]));
        if (differs && !first)
            first = t;
        model.merge(measured);
        layers[m_layerOf[t]].merge(measured);
        out.set(1 + m_layers + t, measured, hasPercentiles);
    }
    out.set(0, model, hasPercentiles);
    for (std::size_t i = 0; i < m_layers; ++i)
        out.set(1 + i, layers[i], hasPercentiles);
    out.ulpHistogram = model.divergence.ulpHistogram;
    out.first = firstDifference(m_run, m_reference, pair.row, pair.referenceRow, m_tensors, first);
}

void RunComparer::append(std::int64_t step, const RowResult& row) {
    m_result.steps.push_back(step);
    m_result.ulpHistograms.push_back(row.ulpHistogram);
    for (std::size_t metric = 0; metric < metricCount; ++metric)
        m_result.values[metric].insert(m_result.values[metric].end(), row.values[metric].begin(),
                                       row.values[metric].end());
    if (!m_result.first)
        m_result.first = row.first;
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
