// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/RowMeasurement.h"

#include "analysis/UlpCounts.h"
#include "recording/HalfPrecision.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace driftscope {
namespace {

/// Sums, and the counts that percentiles need, where these are asked for.
struct Measure {
    Divergence divergence;
    UlpCounts ulps;
    std::uint64_t largestUlp = std::numeric_limits<std::uint64_t>::max(); ///< that the type's width allows

    void merge(const Measure& part) {
        driftscope::merge(divergence, part.divergence);
        ulps.merge(part.ulps);
        largestUlp = std::min(largestUlp, part.largestUlp);
    }
    [[nodiscard]] double percentile(double percent) const {
        return static_cast<double>(std::min(ulps.percentile(percent), largestUlp));
    }
};

bool isHalf(DType type) { return type == DType::Float16 || type == DType::BFloat16; }

std::vector<float> asFloats(const TensorRow& row) {
    if (isHalf(row.dtype()))
        return widened(row.bytes(), row.dtype());
    if (row.dtype() == DType::Float32)
        return {row.values<float>().begin(), row.values<float>().end()};
    std::vector<float> values;
    std::ranges::transform(row.values<double>(), std::back_inserter(values),
                           [](double value) { return static_cast<float>(value); });
    return values;
}

std::vector<double> asDoubles(const TensorRow& row) { return driftscope::asDoubles(row.bytes(), row.dtype()); }

template <class T>
void add(Measure& into, std::span<const T> a, std::span<const T> r, bool hasPercentiles) {
    const Divergence divergence = measureDivergence(a, r);
    if (hasPercentiles)
        into.ulps.add(a, r, divergence);
    merge(into.divergence, divergence);
}

Measure measureFloats(std::span<const float> a, std::span<const float> r, bool hasPercentiles) {
    Measure result;
    add(result, a, r, hasPercentiles);
    return result;
}

/// The place of each value on the integer line of a 16-bit type as a float32 that is as far from zero on its own
/// line: distances between those are distances in the 16-bit type.
std::vector<float> onTheirLine(const TensorRow& row, DType type) {
    std::vector<std::uint16_t> bits;
    if (row.dtype() == type) {
        bits.resize(row.bytes().size() / sizeof(std::uint16_t));
        std::memcpy(bits.data(), row.bytes().data(), row.bytes().size());
    } else {
        for (const float value : asFloats(row))
            bits.push_back(narrowed(value, type));
    }
    const std::uint32_t infinity = type == DType::Float16 ? 0x7C00U : 0x7F80U;
    std::vector<float> places;
    places.reserve(bits.size());
    for (const std::uint16_t half : bits) {
        const std::uint32_t magnitude = half & 0x7FFFU;
        const float place = magnitude > infinity    ? std::numeric_limits<float>::quiet_NaN()
                            : magnitude == infinity ? std::numeric_limits<float>::infinity()
                                                    : std::bit_cast<float>(magnitude);
        places.push_back((half & 0x8000U) != 0 ? -place : place);
    }
    return places;
}

/// Distances in a 16-bit type, with what Divergence.h says of non-finite pairs at that width.
Measure measureHalfUlps(const TensorRow& a, const TensorRow& r, DType type, bool hasPercentiles) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint16_t>::max();
    constexpr std::uint64_t mostOfFloats = std::numeric_limits<std::uint32_t>::max();
    constexpr std::size_t lastBin = 16;
    Measure result = measureFloats(onTheirLine(a, type), onTheirLine(r, type), hasPercentiles);
    Divergence& divergence = result.divergence;
    const std::uint64_t nonfinite = divergence.ulpHistogram[ulpBinCount - 1];
    divergence.ulpMax = std::min(divergence.ulpMax, most);
    divergence.ulpSum -= static_cast<double>(nonfinite) * static_cast<double>(mostOfFloats - most);
    divergence.ulpHistogram[lastBin] += nonfinite;
    divergence.ulpHistogram[ulpBinCount - 1] = 0;
    result.largestUlp = most;
    return result;
}

/// As Divergence::maxRelative, with the smallest normal number of float16, which is not float32's.
double maxRelativeOfFloat16(std::span<const float> a, std::span<const float> r) {
    constexpr double smallest = 0x1p-14;
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i]) || !std::isfinite(r[i]))
            continue;
        const double wideR = r[i];
        most = std::max(most, std::abs(a[i] - wideR) / std::max(std::abs(wideR), smallest));
    }
    return most;
}

Measure withUlps(Divergence distances, Measure ulps) {
    distances.ulpMax = ulps.divergence.ulpMax;
    distances.ulpSum = ulps.divergence.ulpSum;
    distances.ulpHistogram = ulps.divergence.ulpHistogram;
    ulps.divergence = distances;
    return ulps;
}

/// One of the two is 16 bits wide, or their types differ: distances in a type that holds both exactly, ULP in
/// those of the coarser type.
Measure measureOthers(const TensorRow& a, const TensorRow& r, bool hasPercentiles) {
    Divergence distances;
    if (a.dtype() == r.dtype()) {
        const auto wideA = asFloats(a), wideR = asFloats(r);
        distances = measureDivergence(std::span<const float>(wideA), std::span<const float>(wideR));
        if (a.dtype() == DType::Float16 && std::isfinite(distances.maxRelative))
            distances.maxRelative = maxRelativeOfFloat16(wideA, wideR);
        // the widened NaN keep their payloads, so that this counts what differs in the 16 bits
    } else {
        const auto wideA = asDoubles(a), wideR = asDoubles(r);
        distances = measureDivergence(std::span<const double>(wideA), std::span<const double>(wideR));
    }
    // of two 16-bit types bfloat16 is the coarser one
    const DType coarser = a.dtype() == DType::BFloat16 || r.dtype() == DType::BFloat16 ? DType::BFloat16
                          : isHalf(a.dtype()) || isHalf(r.dtype())                    ? DType::Float16
                                                                                      : DType::Float32;
    if (coarser == DType::Float32) {
        const auto narrowA = asFloats(a), narrowR = asFloats(r);
        return withUlps(distances, measureFloats(narrowA, narrowR, hasPercentiles));
    }
    return withUlps(distances, measureHalfUlps(a, r, coarser, hasPercentiles));
}

void add(Measure& into, const TensorRow& a, const TensorRow& r, bool hasPercentiles) {
    if (a.dtype() != r.dtype() || isHalf(a.dtype()))
        into.merge(measureOthers(a, r, hasPercentiles));
    else if (a.dtype() == DType::Float32)
        add(into, a.values<float>(), r.values<float>(), hasPercentiles);
    else
        add(into, a.values<double>(), r.values<double>(), hasPercentiles);
}

/// Part by part: both passes over one find it in the second-level cache, and recordings of any size take little memory.
Measure measure(const TensorRow& a, const TensorRow& r, bool hasPercentiles) {
    constexpr std::size_t partElements = std::size_t{1} << 16;
    thread_local std::vector<std::byte> bufferA, bufferR;
    Measure result;
    for (std::size_t first = 0; first < a.elements(); first += partElements) {
        const std::size_t count = std::min(partElements, a.elements() - first);
        add(result, a.part(first, count, bufferA), r.part(first, count, bufferR), hasPercentiles);
    }
    return result;
}

std::vector<std::string> layersOf(std::span<const TensorInfo> tensors) {
    std::vector<std::string> layers;
    for (const TensorInfo& tensor : tensors)
        if (const std::string layer(layerOf(tensor.name)); std::ranges::find(layers, layer) == layers.end())
            layers.push_back(layer);
    return layers;
}

void set(RowMeasurement& row, std::size_t scope, const Measure& measured, bool hasPercentiles) {
    for (const MetricInfo& info : metrics()) {
        double& value = row.values[static_cast<std::size_t>(info.metric)][scope];
        value = valueOf(measured.divergence, info.metric);
        if (hasPercentiles && info.metric == Metric::UlpP50)
            value = measured.percentile(50);
        if (hasPercentiles && info.metric == Metric::UlpP99)
            value = measured.percentile(99);
    }
}

} // namespace

std::vector<Scope> scopesOf(std::span<const TensorInfo> tensors) {
    std::vector<Scope> scopes{{ScopeKind::Model, ""}};
    for (const std::string& layer : layersOf(tensors))
        scopes.push_back({ScopeKind::Layer, layer});
    for (const TensorInfo& tensor : tensors)
        scopes.push_back({ScopeKind::Tensor, tensor.name});
    return scopes;
}

std::vector<std::size_t> tensorsOf(std::span<const TensorInfo> tensors, const Scope& scope) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::string& name = tensors[i].name;
        if (scope.kind == ScopeKind::Model || (scope.kind == ScopeKind::Tensor && name == scope.name) ||
            (scope.kind == ScopeKind::Layer && layerOf(name) == scope.name))
            found.push_back(i);
    }
    return found;
}

RowMeasurement measureRow(std::span<const TensorInfo> tensors, std::span<const TensorRow> run,
                          std::span<const TensorRow> reference, bool hasPercentiles) {
    const std::vector<std::string> layerNames = layersOf(tensors);
    RowMeasurement row;
    for (std::vector<double>& values : row.values)
        values.resize(1 + layerNames.size() + tensors.size());
    Measure model;
    std::vector<Measure> layers(layerNames.size());
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        const Measure measured = measure(run[t], reference[t], hasPercentiles);
        const auto layer = std::ranges::find(layerNames, layerOf(tensors[t].name)) - layerNames.begin();
        model.merge(measured);
        layers[static_cast<std::size_t>(layer)].merge(measured);
        set(row, 1 + layers.size() + t, measured, hasPercentiles);
    }
    set(row, 0, model, hasPercentiles);
    for (std::size_t i = 0; i < layers.size(); ++i)
        set(row, 1 + i, layers[i], hasPercentiles);
    row.ulpHistogram = model.divergence.ulpHistogram;
    return row;
}

} // namespace driftscope
