// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/Distribution.h"

#include "analysis/ViewData.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace driftscope {

void Moments::add(std::span<const double> values) {
    for (const double value : values) {
        if (!std::isfinite(value)) {
            ++nonfinite;
            continue;
        }
        ++count;
        smallest = std::fmin(smallest, value); // which take NaN for missing
        largest = std::fmax(largest, value);
        const double off = value - mean;
        mean += off / static_cast<double>(count);
        squaredDeviations += off * (value - mean);
    }
}

double Moments::deviation() const {
    return std::sqrt(squaredDeviations / static_cast<double>(count)); // 0 / 0 is NaN
}

Histogram emptyHistogram(double low, double high, std::size_t bins) {
    if (!(low <= high))
        throw std::invalid_argument("a histogram needs low <= high");
    return {low, high, std::vector<std::uint64_t>(high > low ? bins : 1)};
}

void add(Histogram& histogram, std::span<const double> values) {
    const double bins = static_cast<double>(histogram.counts.size());
    const double perUnit = histogram.high > histogram.low ? bins / (histogram.high - histogram.low) : 0;
    for (const double value : values)
        if (value >= histogram.low && value <= histogram.high) {
            const auto bin = static_cast<std::size_t>((value - histogram.low) * perUnit);
            ++histogram.counts[std::min(histogram.counts.size() - 1, bin)];
        }
}

namespace {

/// run − reference of the elements that are not equal.
std::vector<double> differencesOf(const TensorPair& tensor) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < tensor.reference.size(); ++i) {
        const double a = tensor.run[i], r = tensor.reference[i];
        if (a != r && !(std::isnan(a) && std::isnan(r)))
            differences.push_back(a - r);
    }
    return differences;
}

} // namespace

/// In two passes, so that no more than one tensor is in memory.
Distribution makeDistribution(const StudyResults& results, std::size_t run, const Scope& scope, std::int64_t step,
                              std::size_t bins) {
    const RowPair pair(results, run, step);
    const std::vector<std::size_t> tensors = tensorsOf(pair.tensors(), scope);
    if (tensors.empty())
        throw RecordingError(fmt::format("{}: has no {}", runTitle(results.runs[run]), scopeTitle(scope)));
    Distribution distribution;
    distribution.step = pair.step();
    distribution.isSample = pair.isSample();
    distribution.runName = runTitle(results.runs[run]);
    distribution.title = fmt::format("{}, {}, step {}", distribution.runName, scopeTitle(scope), pair.step());
    if (pair.hasReference())
        distribution.referenceName = runTitle(results.runs[*results.runs[run].reference]);
    for (const std::size_t position : tensors) {
        const TensorPair tensor = pair.tensor(position);
        const std::vector<double> differences = differencesOf(tensor);
        distribution.ofRun.add(tensor.run);
        distribution.ofReference.add(tensor.reference);
        distribution.ofDifference.add(differences);
        distribution.identical += tensor.reference.size() - differences.size();
    }
    const Moments &ofRun = distribution.ofRun, &ofReference = distribution.ofReference;
    const double low = std::fmin(ofRun.smallest, ofReference.smallest);
    const double high = std::fmax(ofRun.largest, ofReference.largest);
    const double most =
        std::fmax(std::abs(distribution.ofDifference.smallest), std::abs(distribution.ofDifference.largest));
    if (std::isnan(low))
        return distribution;
    distribution.run = distribution.reference = emptyHistogram(low, high, bins);
    if (most > 0)
        distribution.difference = emptyHistogram(-most, most, bins);
    for (const std::size_t position : tensors) {
        const TensorPair tensor = pair.tensor(position);
        add(distribution.run, tensor.run);
        add(distribution.reference, tensor.reference);
        if (most > 0)
            add(distribution.difference, differencesOf(tensor));
    }
    return distribution;
}

std::string toCsv(const Distribution& distribution) {
    std::string out = "quantity,low,high,count\n";
    const auto add = [&](const char* quantity, const Histogram& histogram) {
        for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin)
            out += fmt::format("{},{},{},{}\n", quantity, histogram.edge(bin), histogram.edge(bin + 1),
                               histogram.counts[bin]);
    };
    add("run", distribution.run);
    if (!distribution.referenceName.empty()) {
        add("reference", distribution.reference);
        out += fmt::format("difference,0,0,{}\n", distribution.identical);
        add("difference", distribution.difference);
    }
    return out;
}

} // namespace driftscope
