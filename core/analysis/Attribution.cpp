// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Attribution.h"

#include "recording/RunReader.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <thread>

namespace driftscope {
namespace {

constexpr std::size_t mostPairs = 64;
/// An effect that each of two axes has alone is this much smaller than what they do together.
constexpr double interactionFactor = 10;

/// A pair of runs and the axes in which they differ, by position among the study's axes.
struct Pair {
    std::size_t run, reference;
    std::vector<std::size_t> axes;
};

struct PairResult {
    bool isCompared = false, isIdentical = false;
    RunComparison last; ///< one row: the last common one
};

using Readers = std::vector<std::unique_ptr<RunReader>>; ///< per run; none: left out

Readers openRuns(const StudyResults& results) {
    Readers readers(results.runs.size());
    for (std::size_t i = 0; i < results.runs.size(); ++i) {
        const RunResult& run = results.runs[i];
        if (run.config.isTwin || run.config.isControl || run.state != RunState::Finished || run.rows == 0)
            continue;
        try {
            readers[i] = std::make_unique<RunReader>(results.folder.runFile(run.config));
        } catch (const RecordingError&) { // the results say what is wrong with it
        }
    }
    return readers;
}

std::vector<Pair> pairsOf(const StudyResults& results, const Readers& readers, std::size_t mostAxes) {
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < readers.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
            if (!readers[i] || !readers[j])
                continue;
            const auto &ours = results.runs[i].config.settings, &theirs = results.runs[j].config.settings;
            Pair pair{i, j, {}};
            for (std::size_t axis = 0; axis < std::min(ours.size(), theirs.size()); ++axis)
                if (!(ours[axis] == theirs[axis]))
                    pair.axes.push_back(axis);
            if (!pair.axes.empty() && pair.axes.size() <= mostAxes)
                pairs.push_back(std::move(pair));
        }
    return pairs;
}

/// At most so many, evenly chosen.
std::vector<Pair> chosen(const std::vector<Pair>& pairs) {
    if (pairs.size() <= mostPairs)
        return pairs;
    std::vector<Pair> some;
    for (std::size_t i = 0; i < mostPairs; ++i)
        some.push_back(pairs[i * pairs.size() / mostPairs]);
    return some;
}

/// Of two runs of one model.
bool haveEqualBits(const RunReader& run, const RunReader& reference) {
    std::vector<std::size_t> positions; // of the run's tensors in the reference
    for (const TensorInfo& tensor : run.parameters())
        positions.push_back(static_cast<std::size_t>(
            std::ranges::find(reference.parameters(), tensor.name, &TensorInfo::name) - reference.parameters().begin()));
    const auto steps = run.steps(), others = reference.steps();
    const auto rows = static_cast<std::size_t>(run.progress().rows);
    const auto referenceRows = static_cast<std::size_t>(reference.progress().rows);
    for (std::size_t i = 0, j = 0; i < rows && j < referenceRows;) {
        if (steps[i] != others[j]) {
            ++(steps[i] < others[j] ? i : j);
            continue;
        }
        for (std::size_t tensor = 0; tensor < run.parameters().size(); ++tensor)
            if (run.weightDigest(tensor, i) != reference.weightDigest(positions[tensor], j))
                return false;
        ++i;
        ++j;
    }
    return true;
}

PairResult compare(const RunReader& run, const RunReader& reference) {
    RunComparer comparer(run, reference,
                         {.hasPercentiles = false, .trustsDigests = true, .lastUpTo = run.steps().back()});
    comparer.update();
    PairResult result{.last = comparer.result()};
    result.isCompared = result.last.rows() == 1;
    result.isIdentical = result.isCompared && haveEqualBits(run, reference);
    return result;
}

std::vector<PairResult> compareAll(const std::vector<Pair>& pairs, const Readers& readers, int threads,
                                   const std::stop_token& stop) {
    std::vector<PairResult> results(pairs.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < pairs.size() && !stop.stop_requested(); i = next++) {
            try {
                results[i] = compare(*readers[pairs[i].run], *readers[pairs[i].reference]);
            } catch (const RecordingError&) { // a damaged row, or two models: this pair tells nothing
                results[i] = {};
            }
        }
    };
    std::vector<std::jthread> helpers;
    for (int i = 1; i < std::min<int>(threads, static_cast<int>(pairs.size())); ++i)
        helpers.emplace_back(work);
    work();
    helpers.clear();
    return results;
}

/// 0 where there are none, NaN where none is known.
double medianOf(std::vector<double> values) {
    const bool areNone = values.empty();
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty())
        return areNone ? 0 : std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// Likewise.
double largestOf(const std::vector<double>& values) {
    double largest = medianOf(values);
    for (const double value : values)
        largest = std::max(largest, value);
    return largest;
}

AxisEffect effectOf(const std::string& axis, std::size_t pairs, std::span<const PairResult> results) {
    AxisEffect effect;
    effect.axis = axis;
    effect.pairs = pairs;
    std::vector<double> differing;
    std::vector<std::vector<double>> ofLayers;
    std::vector<Scope> scopes;
    for (const PairResult& result : results) {
        if (!result.isCompared)
            continue;
        ++effect.compared;
        effect.identical += result.isIdentical;
        if (!result.isIdentical)
            differing.push_back(result.last.value(Metric::RelativeL2, 0, 0));
        if (scopes.empty()) {
            scopes = result.last.scopes;
            for (const Scope& scope : scopes)
                if (scope.kind == ScopeKind::Layer)
                    effect.layers.push_back({scope.name});
            ofLayers.resize(effect.layers.size());
        }
        if (result.last.scopes != scopes) // another model: an axis of the network
            continue;
        for (std::size_t layer = 0; layer < effect.layers.size(); ++layer) {
            const std::size_t scope = layer + 1; // behind the model
            if (result.last.isIdentical(0, scope))
                ++effect.layers[layer].identical;
            else
                ofLayers[layer].push_back(result.last.value(Metric::RelativeL2, 0, scope));
        }
    }
    effect.median = medianOf(differing);
    effect.largest = largestOf(differing);
    for (std::size_t layer = 0; layer < effect.layers.size(); ++layer)
        effect.layers[layer].median = medianOf(ofLayers[layer]);
    return effect;
}

/// Of a pair that is compared.
double distanceOf(const PairResult& pair) {
    return pair.last.value(Metric::RelativeL2, 0, 0);
}

/// Pairs that differ in both axes, held against the two pairs that change one of them alone.
std::optional<Interaction> interactionOf(const StudyResults& results, const std::vector<Pair>& pairs,
                                         const std::vector<PairResult>& compared, std::size_t first,
                                         std::size_t second) {
    const auto divergenceOf = [&](std::size_t a, std::size_t b) -> std::optional<double> {
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if ((pairs[i].run == a && pairs[i].reference == b) || (pairs[i].run == b && pairs[i].reference == a))
                return compared[i].isCompared ? std::optional(distanceOf(compared[i])) : std::nullopt;
        return std::nullopt;
    };
    const auto runWith = [&](std::vector<Assignment> settings) -> std::optional<std::size_t> {
        for (std::size_t i = 0; i < results.runs.size(); ++i)
            if (const RunConfig& run = results.runs[i].config;
                !run.isTwin && !run.isControl && run.settings == settings)
                return i;
        return std::nullopt;
    };
    std::vector<double> together, alone;
    std::string example;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Pair& pair = pairs[i];
        if (pair.axes != std::vector{first, second} || !compared[i].isCompared || !(distanceOf(compared[i]) > 0))
            continue;
        const auto &to = results.runs[pair.run].config.settings, &from = results.runs[pair.reference].config.settings;
        double larger = 0;
        bool isKnown = true;
        for (const std::size_t axis : {first, second}) {
            std::vector<Assignment> one = from;
            one[axis] = to[axis];
            const auto other = runWith(one);
            const auto divergence = other ? divergenceOf(*other, pair.reference) : std::nullopt;
            isKnown = isKnown && divergence && !std::isnan(*divergence);
            larger = std::max(larger, divergence.value_or(0));
        }
        if (!isKnown || larger * interactionFactor > distanceOf(compared[i]))
            continue;
        together.push_back(distanceOf(compared[i]));
        alone.push_back(larger);
        if (example.empty())
            example = fmt::format("{} {} → {} with {} {} → {}", from[first].key, toText(from[first].value),
                                  toText(to[first].value), from[second].key, toText(from[second].value),
                                  toText(to[second].value));
    }
    if (together.empty())
        return std::nullopt;
    return Interaction{results.folder.study.axes[first].key, results.folder.study.axes[second].key, example,
                       medianOf(together), medianOf(alone)};
}

} // namespace

Attribution attribute(const StudyResults& results, int threads, std::stop_token stop) {
    Attribution attribution;
    const std::vector<Axis>& axes = results.folder.study.axes;
    const Readers readers = openRuns(results);
    const std::vector<Pair> all = pairsOf(results, readers, 2);

    // one list of what is compared, so that no pair is compared twice
    std::vector<Pair> pairs;
    std::map<std::vector<std::size_t>, std::size_t> counts;
    std::map<std::vector<std::size_t>, std::vector<Pair>> byAxes;
    for (const Pair& pair : all) {
        ++counts[pair.axes];
        byAxes[pair.axes].push_back(pair);
    }
    for (const auto& [differing, some] : byAxes)
        std::ranges::copy(chosen(some), std::back_inserter(pairs));
    const std::vector<PairResult> compared = compareAll(pairs, readers, threads, stop);

    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        std::vector<PairResult> own;
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if (pairs[i].axes == std::vector{axis})
                own.push_back(compared[i]);
        attribution.axes.push_back(effectOf(axes[axis].key, counts[{axis}], own));
        for (std::size_t second = axis + 1; second < axes.size(); ++second)
            if (auto interaction = interactionOf(results, pairs, compared, axis, second))
                attribution.interactions.push_back(std::move(*interaction));
    }
    std::ranges::stable_sort(attribution.axes, std::ranges::greater{}, [](const AxisEffect& effect) {
        // differs, who knows how far: behind what is known, before what is identical
        return std::isnan(effect.median) ? std::numeric_limits<double>::denorm_min() : effect.median;
    });
    return attribution;
}

} // namespace driftscope
