// SPDX-License-Identifier: GPL-3.0-or-later
// How the values of a run's weights are distributed at a step, beside the reference's, and the differences of the two.
#pragma once

#include "analysis/RowPair.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// Bins of equal width over finite values; the last one has its upper end in it.
struct Histogram {
    double low = 0;
    double high = 0; ///< low == high: all values are the same, in one bin
    std::vector<std::uint64_t> counts;

    [[nodiscard]] double edge(std::size_t bin) const {
        return low + (high - low) * static_cast<double>(bin) / static_cast<double>(counts.size());
    }
    bool operator==(const Histogram&) const = default;
};

/// Of finite values, gathered by Welford's recurrence.
struct Moments {
    std::uint64_t count = 0;
    std::uint64_t nonfinite = 0; ///< left out of all else
    double smallest = std::numeric_limits<double>::quiet_NaN(); ///< NaN: there are none
    double largest = std::numeric_limits<double>::quiet_NaN();
    double mean = 0;
    double squaredDeviations = 0; ///< Σ (value − mean)²

    void add(std::span<const double> values);
    [[nodiscard]] double deviation() const; ///< of the population; NaN: there are no values
};

/// Empty bins; one where low == high. Throws std::invalid_argument unless low ≤ high.
Histogram emptyHistogram(double low, double high, std::size_t bins);
/// Values outside and non-finite ones are not counted.
void add(Histogram& histogram, std::span<const double> values);

struct Distribution {
    std::string title;         ///< "acc 2 · thr 1, fc1.weight, step 100"
    std::string runName, referenceName; ///< the latter "" where there is none
    std::int64_t step = 0;
    Histogram run, reference;  ///< the same bins
    Histogram difference;      ///< run − reference, symmetric around 0; empty without a reference
    std::uint64_t identical = 0; ///< elements whose difference is 0: not in `difference`
    Moments ofRun, ofReference, ofDifference;
    bool isSample = false;     ///< of a fixed sample of the elements
};

/// Throws RecordingError where the values are not kept.
Distribution makeDistribution(const StudyResults& results, std::size_t run, const Scope& scope, std::int64_t step,
                              std::size_t bins = 100);

/// quantity (run, reference, difference), low, high, count
std::string toCsv(const Distribution& distribution);

} // namespace driftscope
