// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/FlipShare.h"

#include "recording/HalfPrecision.h"
#include "recording/RunFile.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>

namespace driftscope {
namespace {

struct Place {
    const TracedTensor* part;
    std::size_t sample; ///< in the part
};

/// Where a module's output for each sample is, by the sample's id.
std::map<std::int64_t, Place> placesOf(const Trace& trace, const std::string& module) {
    std::map<std::int64_t, Place> places;
    for (const TracedTensor& part : trace.of(Phase::Forward)) {
        if (part.name != module || !part.isKept())
            continue;
        for (std::size_t i = 0; i < part.samples.size(); ++i)
            if (const std::size_t at = static_cast<std::size_t>(part.first) + i; at < trace.sampleIds.size())
                places.emplace(trace.sampleIds[at], Place{&part, i});
    }
    return places;
}

std::vector<double> numbers(const std::string& type, const std::vector<std::byte>& bytes) {
    const auto wide = [&]<class T>(T) {
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return std::vector<double>(values.begin(), values.end());
    };
    const std::optional<DType> known = floatTypeNamed(type);
    if (!known)
        throw RecordingError(type + ": not a type of real numbers");
    if (*known == DType::Float64)
        return wide(double{});
    if (*known == DType::Float32)
        return wide(float{});
    const std::vector<float> values = widened(bytes, *known);
    return {values.begin(), values.end()};
}

/// Of one parameter; none where it was not kept.
std::optional<std::vector<double>> gradientOf(const TraceReader& trace, const std::string& name) {
    for (const TracedTensor& tensor : trace.trace().of(Phase::Gradient))
        if (tensor.name == name && tensor.isKept())
            return numbers(tensor.dtype, trace.values(tensor));
    return std::nullopt;
}

} // namespace

FlipShare countFlips(const TraceReader& a, const TraceReader& b) {
    FlipShare flips;
    std::set<std::int64_t> flipped, compared;
    for (const std::string& module : a.trace().reluModules) {
        const auto ours = placesOf(a.trace(), module), theirs = placesOf(b.trace(), module);
        FlipShare::Module counted;
        counted.name = module;
        for (const auto& [id, place] : ours) {
            const auto other = theirs.find(id);
            if (other == theirs.end())
                continue;
            const std::vector<double> left = numbers(place.part->dtype, a.sampleValues(*place.part, place.sample));
            const std::vector<double> right =
                numbers(other->second.part->dtype, b.sampleValues(*other->second.part, other->second.sample));
            const std::size_t units = std::min(left.size(), right.size());
            std::uint64_t here = 0;
            for (std::size_t i = 0; i < units; ++i)
                here += (left[i] > 0) != (right[i] > 0);
            counted.units += units;
            counted.flipped += here;
            compared.insert(id);
            if (here > 0)
                flipped.insert(id);
        }
        if (counted.units > 0)
            flips.modules.push_back(std::move(counted));
    }
    flips.comparedSamples = static_cast<std::int64_t>(compared.size());
    flips.samples.assign(flipped.begin(), flipped.end());
    return flips;
}

double shareOfGradient(const TraceReader& a, const TraceReader& b, const TraceReader& onlyA, const TraceReader& onlyB) {
    double along = 0, all = 0;
    for (const TracedTensor& tensor : a.trace().of(Phase::Gradient)) {
        const auto left = gradientOf(a, tensor.name), right = gradientOf(b, tensor.name);
        const auto partA = gradientOf(onlyA, tensor.name), partB = gradientOf(onlyB, tensor.name);
        if (!left || !right || !partA || !partB)
            return std::numeric_limits<double>::quiet_NaN();
        const std::size_t count = std::min({left->size(), right->size(), partA->size(), partB->size()});
        for (std::size_t i = 0; i < count; ++i) {
            const double difference = (*right)[i] - (*left)[i];
            along += ((*partB)[i] - (*partA)[i]) * difference;
            all += difference * difference;
        }
    }
    return all == 0 ? std::numeric_limits<double>::quiet_NaN() : along / all;
}

} // namespace driftscope
