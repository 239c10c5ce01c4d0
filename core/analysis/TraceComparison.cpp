// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/TraceComparison.h"

#include "analysis/RowMeasurement.h"
#include "recording/HalfPrecision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

namespace driftscope {
namespace {

using Bytes = std::vector<std::byte>;
using Parts = std::vector<const TracedTensor*>;

std::vector<double> asDoubles(DType type, const Bytes& bytes) {
    const auto copied = [&]<class T>(T) {
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return std::vector<double>(values.begin(), values.end());
    };
    if (type == DType::Float64)
        return copied(double{});
    if (type == DType::Float32)
        return copied(float{});
    const std::vector<float> wide = widened(bytes, type);
    return {wide.begin(), wide.end()};
}

void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

/// The tensors of a phase by name, the names in the order in which they come first.
struct Named {
    std::vector<std::string> names;
    std::map<std::string, Parts> parts;

    explicit Named(const std::vector<TracedTensor>& tensors) {
        for (const TracedTensor& tensor : tensors) {
            Parts& list = parts[tensor.name];
            if (list.empty())
                names.push_back(tensor.name);
            list.push_back(&tensor);
        }
    }
    [[nodiscard]] Parts of(const std::string& name) const {
        const auto found = parts.find(name);
        return found == parts.end() ? Parts{} : found->second;
    }
};

/// Where a sample is: in which part, at which row.
struct Place {
    const TracedTensor* part = nullptr;
    std::size_t row = 0;
};

std::map<std::int64_t, Place> placesOf(const Parts& parts, const Trace& trace) {
    std::map<std::int64_t, Place> places;
    for (const TracedTensor* part : parts)
        for (std::size_t row = 0; row < part->samples.size(); ++row) {
            const std::size_t position = static_cast<std::size_t>(part->first) + row;
            if (position < trace.sampleIds.size())
                places.try_emplace(trace.sampleIds[position], Place{part, row});
        }
    return places;
}

std::uint64_t elementsPerSample(const TracedTensor& part) {
    return part.elements() / std::max<std::uint64_t>(part.samples.size(), 1);
}

/// What the bytes of both say of a tensor that differs.
void measure(const std::string& typeA, const Bytes& a, const std::string& typeB, const Bytes& b,
             TensorComparison& out) {
    out.distance = distanceOf(typeA, a, typeB, b);
    if (typeA == typeB)
        out.factor = exactFactor(typeA, a, b);
    else
        out.types = fmt::format("{} → {}", typeA, typeB);
}

TensorComparison compareSamples(const std::string& name, const TraceReader& a, const Parts& partsA,
                                const TraceReader& b, const Parts& partsB) {
    TensorComparison out{.name = name};
    const auto placesA = placesOf(partsA, a.trace()), placesB = placesOf(partsB, b.trace());
    std::vector<std::pair<Place, Place>> common;
    bool isKept = true;
    for (const std::int64_t id : a.trace().sampleIds) { // a sample may be in a batch twice: it counts once
        const auto placeA = placesA.find(id), placeB = placesB.find(id);
        if (placeA == placesA.end() || placeB == placesB.end())
            continue;
        common.emplace_back(placeA->second, placeB->second);
        const auto& [left, right] = common.back();
        if (left.part->samples[left.row] != right.part->samples[right.row])
            ++out.differingSamples;
        isKept = isKept && left.part->isKept() && right.part->isKept();
        out.elements += elementsPerSample(*left.part);
    }
    out.samples = static_cast<std::int64_t>(common.size());
    out.isIdentical = out.differingSamples == 0;
    if (out.isIdentical)
        return out;
    out.distance = {};
    if (!isKept)
        return out;
    Bytes valuesA, valuesB;
    for (const auto& [left, right] : common) {
        append(valuesA, a.sampleValues(*left.part, left.row));
        append(valuesB, b.sampleValues(*right.part, right.row));
    }
    measure(partsA.front()->dtype, valuesA, partsB.front()->dtype, valuesB, out);
    return out;
}

/// None where the two are no parts of the same.
std::optional<TensorComparison> compareWholes(const std::string& name, const TraceReader& a, Parts partsA,
                                              const TraceReader& b, Parts partsB, Phase phase) {
    if (!std::ranges::equal(partsA, partsB, {}, &TracedTensor::first, &TracedTensor::first)) {
        if (phase != Phase::Forward)
            return std::nullopt; // means and sums over other samples
        partsA.resize(1); // each micro-batch puts out the same, as an embedding of positions does
        partsB.resize(1);
    }
    TensorComparison out{.name = name};
    bool isKept = true;
    for (std::size_t i = 0; i < partsA.size(); ++i) {
        out.isIdentical = out.isIdentical && partsA[i]->digest == partsB[i]->digest && partsA[i]->dtype == partsB[i]->dtype;
        isKept = isKept && partsA[i]->isKept() && partsB[i]->isKept();
        out.elements += partsA[i]->elements();
    }
    if (out.isIdentical)
        return out;
    out.distance = {};
    if (!isKept)
        return out;
    Bytes valuesA, valuesB;
    for (std::size_t i = 0; i < partsA.size(); ++i) {
        append(valuesA, a.values(*partsA[i]));
        append(valuesB, b.values(*partsB[i]));
    }
    measure(partsA.front()->dtype, valuesA, partsB.front()->dtype, valuesB, out);
    return out;
}

bool areSamples(const Parts& parts) {
    return std::ranges::none_of(parts, [](const TracedTensor* part) { return part->samples.empty(); });
}

/// What each sample counts in the loss. Quotients taken in another order may differ in the last bits of float64.
std::optional<TensorComparison> compareSampleWeights(const Trace& a, const Trace& b) {
    constexpr double tolerance = 1e-9;
    if (a.sampleWeights.size() != a.sampleIds.size() || b.sampleWeights.size() != b.sampleIds.size())
        return std::nullopt;
    TensorComparison out{.name = "sample_weight", .hasValues = false};
    std::optional<double> factor;
    bool isUniform = true;
    for (std::size_t i = 0; i < a.sampleIds.size(); ++i) {
        const auto other = std::ranges::find(b.sampleIds, a.sampleIds[i]);
        if (other == b.sampleIds.end())
            continue;
        const double weightA = a.sampleWeights[i];
        const double weightB = b.sampleWeights[static_cast<std::size_t>(other - b.sampleIds.begin())];
        ++out.samples;
        ++out.elements;
        if (std::abs(weightB - weightA) > tolerance * std::abs(weightA))
            ++out.differingSamples;
        if (weightA == 0 && weightB == 0)
            continue;
        const double ratio = weightB / weightA;
        isUniform = isUniform && std::isfinite(ratio) && std::abs(ratio / factor.value_or(ratio) - 1) <= tolerance;
        factor = factor.value_or(ratio);
    }
    out.isIdentical = out.differingSamples == 0;
    if (!out.isIdentical) {
        out.distance = {};
        out.distance.changed = static_cast<double>(out.differingSamples) / static_cast<double>(out.samples);
        if (isUniform && factor)
            out.factor = *factor;
    }
    return out;
}

/// The ids themselves, and what their difference means.
TensorComparison compareSampleIds(const Trace& a, const Trace& b, std::string& note) {
    TensorComparison out{.name = "sample_ids", .hasValues = false};
    out.elements = a.sampleIds.size();
    out.isIdentical = a.sampleIds == b.sampleIds;
    if (out.isIdentical)
        return out;
    std::vector<std::int64_t> left = a.sampleIds, right = b.sampleIds, common;
    std::ranges::sort(left);
    std::ranges::sort(right);
    std::ranges::set_intersection(left, right, std::back_inserter(common));
    out.distance = {};
    if (left == right)
        note = "the same samples in another order";
    else
        note = fmt::format("{} of A's {} samples are not among B's {}", left.size() - common.size(), left.size(),
                           right.size());
    return out;
}

/// The backward pass comes to the last module's parameters first.
void sortByBackwardPass(std::vector<TensorComparison>& tensors, const Trace& trace) {
    const Named backward(trace.of(Phase::Backward));
    const auto rank = [&](const TensorComparison& tensor) {
        return std::ranges::find(backward.names, std::string(layerOf(tensor.name))) - backward.names.begin();
    };
    std::ranges::stable_sort(tensors, {}, rank);
}

} // namespace

const TensorComparison* PhaseComparison::firstDifference() const {
    const auto found = std::ranges::find(tensors, false, &TensorComparison::isIdentical);
    return found == tensors.end() ? nullptr : &*found;
}

std::int64_t PhaseComparison::differingTensors() const {
    return std::ranges::count(tensors, false, &TensorComparison::isIdentical);
}

double PhaseComparison::changed() const {
    double changed = 0, elements = 0;
    for (const TensorComparison& tensor : tensors) {
        if (!tensor.hasValues)
            continue;
        changed += tensor.distance.changed * static_cast<double>(tensor.elements);
        elements += static_cast<double>(tensor.elements);
    }
    return elements == 0 ? 0 : changed / elements;
}

double PhaseComparison::ulpMax() const {
    double most = 0;
    for (const TensorComparison& tensor : tensors) {
        if (!tensor.hasValues)
            continue;
        if (std::isnan(tensor.distance.ulpMax))
            return tensor.distance.ulpMax;
        most = std::max(most, tensor.distance.ulpMax);
    }
    return most;
}

double PhaseComparison::factor() const {
    const TensorComparison* first = firstDifference();
    if (!first)
        return 1;
    const bool isOne = std::ranges::all_of(tensors, [&](const TensorComparison& tensor) {
        return tensor.isIdentical || tensor.factor == first->factor;
    });
    return isOne ? first->factor : 1;
}

Distance distanceOf(const std::string& typeA, const Bytes& a, const std::string& typeB, const Bytes& b) {
    const auto floatA = floatTypeNamed(typeA), floatB = floatTypeNamed(typeB);
    Distance distance;
    if (!floatA || !floatB) // integers: only whether they are equal is known, all of them as one
        return distance;
    const std::size_t elements = a.size() / sizeBytes(*floatA);
    if (b.size() / sizeBytes(*floatB) != elements)
        return distance;
    const std::vector<TensorInfo> info{{"", *floatA, {elements}}};
    const std::vector<TensorRow> run{TensorRow(*floatB, b)}, reference{TensorRow(*floatA, a)};
    const RowMeasurement measured = measureRow(info, run, reference, /*hasPercentiles=*/false);
    distance.changed = *floatA == *floatB ? measured.ofTensor(Metric::Changed, 0, 1) : 1;
    distance.ulpMax = measured.ofTensor(Metric::UlpMax, 0, 1);
    distance.relativeL2 = measured.ofTensor(Metric::RelativeL2, 0, 1);
    distance.maxAbsolute = measured.ofTensor(Metric::MaxAbsolute, 0, 1);
    return distance;
}

double exactFactor(const std::string& type, const Bytes& a, const Bytes& b) {
    const auto floatType = floatTypeNamed(type);
    if (!floatType || a.size() != b.size())
        return 1;
    const std::vector<double> valuesA = asDoubles(*floatType, a), valuesB = asDoubles(*floatType, b);
    const auto first = std::ranges::find_if(valuesA, [](double value) { return value != 0; });
    if (first == valuesA.end())
        return 1;
    const double factor = valuesB[static_cast<std::size_t>(first - valuesA.begin())] / *first;
    int exponent = 0;
    if (!std::isfinite(factor) || factor == 1 || std::abs(std::frexp(factor, &exponent)) != 0.5)
        return 1;
    for (std::size_t i = 0; i < valuesA.size(); ++i)
        if (!(valuesB[i] == factor * valuesA[i]))
            return 1;
    return factor;
}

PhaseComparison comparePhase(const TraceReader& a, const TraceReader& b, Phase phase) {
    PhaseComparison out{.phase = phase, .tensors = {}, .note = {}};
    if (phase == Phase::Batch && !a.trace().sampleIds.empty())
        out.tensors.push_back(compareSampleIds(a.trace(), b.trace(), out.note));
    const Named namedA(a.trace().of(phase)), namedB(b.trace().of(phase));
    std::vector<std::string> names = namedA.names;
    for (const std::string& name : namedB.names)
        if (!namedA.parts.contains(name))
            names.push_back(name);
    for (const std::string& name : names) {
        const Parts partsA = namedA.of(name), partsB = namedB.of(name);
        if (partsA.empty() || partsB.empty()) {
            out.tensors.push_back({.name = name, .isIdentical = false, .onlyIn = partsA.empty() ? "B" : "A", .distance = {}});
            continue;
        }
        if (areSamples(partsA) && areSamples(partsB)) {
            out.tensors.push_back(compareSamples(name, a, partsA, b, partsB));
        } else if (auto compared = compareWholes(name, a, partsA, b, partsB, phase)) {
            out.tensors.push_back(std::move(*compared));
        }
        if (name == "sample_loss")
            if (auto weights = compareSampleWeights(a.trace(), b.trace()))
                out.tensors.push_back(std::move(*weights));
    }
    if (phase == Phase::Gradient)
        sortByBackwardPass(out.tensors, a.trace());
    if (std::ranges::any_of(out.tensors, [](const TensorComparison& tensor) {
            return tensor.hasValues && tensor.onlyIn.empty() && std::isnan(tensor.distance.ulpMax);
        }))
        out.note += std::string(out.note.empty() ? "" : "; ") + "not all values were kept: some distances are not known";
    return out;
}

} // namespace driftscope
