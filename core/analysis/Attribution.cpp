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
    double divergence = 0;
    std::vector<std::string> layers;
    std::vector<double> ofLayers; ///< 0 where the layer's bits are equal
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

std::optional<std::pair<std::size_t, std::size_t>> lastCommonRow(const RunReader& run, const RunReader& reference) {
    auto i = static_cast<std::ptrdiff_t>(run.progress().rows) - 1;
    auto j = static_cast<std::ptrdiff_t>(reference.progress().rows) - 1;
    while (i >= 0 && j >= 0) {
        const std::int64_t step = run.steps()[static_cast<std::size_t>(i)];
        const std::int64_t other = reference.steps()[static_cast<std::size_t>(j)];
        if (step == other)
            return std::pair(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
        --(step > other ? i : j);
    }
    return std::nullopt;
}

bool haveEqualBits(const RunReader& run, const RunReader& reference) {
    const auto steps = run.steps(), others = reference.steps();
    const auto rows = static_cast<std::size_t>(run.progress().rows);
    const auto referenceRows = static_cast<std::size_t>(reference.progress().rows);
    for (std::size_t i = 0, j = 0; i < rows && j < referenceRows;) {
        if (steps[i] != others[j]) {
            ++(steps[i] < others[j] ? i : j);
            continue;
        }
        for (std::size_t tensor = 0; tensor < run.parameters().size(); ++tensor)
            if (run.weightDigest(tensor, i) != reference.weightDigest(tensor, j))
                return false;
        ++i;
        ++j;
    }
    return true;
}

PairResult compare(const RunReader& run, const RunReader& reference) {
    PairResult result;
    const auto tensors = run.parameters();
    if (!std::ranges::equal(tensors, reference.parameters(), {}, &TensorInfo::name, &TensorInfo::name) ||
        !std::ranges::equal(tensors, reference.parameters(), {}, &TensorInfo::shape, &TensorInfo::shape))
        return result;
    const auto row = lastCommonRow(run, reference);
    if (!row)
        return result;
    result.isCompared = true;
    const bool isMixed =
        !std::ranges::equal(tensors, reference.parameters(), {}, &TensorInfo::dtype, &TensorInfo::dtype);
    result.isIdentical = !isMixed && haveEqualBits(run, reference);

    const std::vector<Scope> scopes = scopesOf(tensors);
    std::vector<double> relative(scopes.size(), result.isIdentical ? 0 : std::numeric_limits<double>::quiet_NaN());
    const bool areKept = run.weightsLevel() == reference.weightsLevel() && run.weightsLevel() != WeightsLevel::DigestOnly;
    if (!result.isIdentical && areKept) {
        std::vector<TensorRow> ours, theirs;
        for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
            ours.push_back(run.weights(tensor, row->first));
            theirs.push_back(reference.weights(tensor, row->second));
            if (ours.back().bytes().size() / sizeBytes(ours.back().dtype()) !=
                theirs.back().bytes().size() / sizeBytes(theirs.back().dtype()))
                return {}; // two sizes of sample
        }
        relative = measureRow(tensors, ours, theirs, false).values[static_cast<std::size_t>(Metric::RelativeL2)];
    }
    result.divergence = relative.front();
    for (std::size_t scope = 0; scope < scopes.size(); ++scope)
        if (scopes[scope].kind == ScopeKind::Layer) {
            result.layers.push_back(scopes[scope].name);
            result.ofLayers.push_back(relative[scope]);
        }
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
            } catch (const RecordingError&) { // a damaged row: this pair tells nothing
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

double medianOf(std::vector<double> values) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty())
        return std::numeric_limits<double>::quiet_NaN();
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

AxisEffect effectOf(const std::string& axis, std::size_t pairs, std::span<const PairResult> results) {
    AxisEffect effect;
    effect.axis = axis;
    effect.pairs = pairs;
    std::vector<double> differing;
    std::vector<std::vector<double>> ofLayers;
    for (const PairResult& result : results) {
        if (!result.isCompared)
            continue;
        ++effect.compared;
        effect.identical += result.isIdentical;
        if (!result.isIdentical)
            differing.push_back(result.divergence);
        if (effect.layers.empty())
            for (const std::string& name : result.layers)
                effect.layers.push_back({name});
        ofLayers.resize(effect.layers.size());
        if (result.layers.size() != effect.layers.size()) // another model: an axis of the network
            continue;
        for (std::size_t layer = 0; layer < effect.layers.size(); ++layer) {
            effect.layers[layer].identical += result.ofLayers[layer] == 0;
            if (result.ofLayers[layer] != 0)
                ofLayers[layer].push_back(result.ofLayers[layer]);
        }
    }
    if (!differing.empty()) {
        effect.median = medianOf(differing);
        effect.largest = *std::ranges::max_element(differing);
    }
    for (std::size_t layer = 0; layer < effect.layers.size(); ++layer)
        if (!ofLayers[layer].empty())
            effect.layers[layer].median = medianOf(ofLayers[layer]);
    return effect;
}

/// Pairs that differ in both axes, held against the two pairs that change one of them alone.
std::optional<Interaction> interactionOf(const StudyResults& results, const std::vector<Pair>& pairs,
                                         const std::vector<PairResult>& compared, std::size_t first,
                                         std::size_t second) {
    const auto divergenceOf = [&](std::size_t a, std::size_t b) -> std::optional<double> {
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if ((pairs[i].run == a && pairs[i].reference == b) || (pairs[i].run == b && pairs[i].reference == a))
                return compared[i].isCompared ? std::optional(compared[i].divergence) : std::nullopt;
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
        if (pair.axes != std::vector{first, second} || !compared[i].isCompared || !(compared[i].divergence > 0))
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
        if (!isKnown || larger * interactionFactor > compared[i].divergence)
            continue;
        together.push_back(compared[i].divergence);
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
    std::ranges::stable_sort(attribution.axes, [](const AxisEffect& a, const AxisEffect& b) {
        const auto size = [](const AxisEffect& effect) { return std::isnan(effect.median) ? -1 : effect.median; };
        return size(a) > size(b);
    });
    return attribution;
}

double seedSpread(const Attribution& attribution) {
    const auto seed = std::ranges::find(attribution.axes, "seed", &AxisEffect::axis);
    if (seed == attribution.axes.end() || seed->compared == 0)
        return std::numeric_limits<double>::quiet_NaN();
    return seed->median;
}

} // namespace driftscope
