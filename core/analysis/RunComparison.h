// SPDX-License-Identifier: GPL-3.0-or-later
// One run against its reference: every metric for the model, each layer and each tensor at every
// common row, and where the two part first.
#pragma once

#include "analysis/RowMeasurement.h"
#include "recording/RunReader.h"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

struct FirstDivergence {
    std::int64_t step = 0;
    std::string phase;  ///< init, batch, gradient or weights
    std::string tensor; ///< "" in phase batch
    std::int64_t after = -1; ///< last step before it that both recorded, with equal bits; -1: there is none
    bool operator==(const FirstDivergence&) const = default;
};

/// The steps between `after` and `step`: the difference may have arisen in one of them. "1 to 3", "1", or "".
std::string unrecordedBefore(const FirstDivergence& first);

/// "step 1, phase gradient, conv1.weight"; "step 4 (1 to 3 are not recorded), phase gradient, conv1.weight"
std::string toText(const FirstDivergence& first);

/// Rows of common steps × scopes × metrics. Scopes: the model first, then layers in the order of the
/// model, then tensors.
struct RunComparison {
    std::vector<std::int64_t> steps;
    std::vector<Scope> scopes;
    std::array<std::vector<double>, metricCount> values; ///< per metric, rows × scopes, row-major
    std::vector<std::array<std::uint64_t, ulpBinCount>> ulpHistograms; ///< of the model, per row
    std::optional<FirstDivergence> first; ///< none: all rows compared are bit-identical

    [[nodiscard]] std::size_t rows() const { return steps.size(); }
    [[nodiscard]] double value(Metric metric, std::size_t row, std::size_t scope) const {
        return values[static_cast<std::size_t>(metric)][row * scopes.size() + scope];
    }
    /// True where all weights of the scope have equal bits at that row (changed is 0).
    [[nodiscard]] bool isIdentical(std::size_t row, std::size_t scope) const {
        return value(Metric::Changed, row, scope) == 0;
    }
    [[nodiscard]] std::optional<std::size_t> findScope(const Scope& scope) const;
};

struct ComparisonOptions {
    bool hasPercentiles = true; ///< false: UlpP50 and UlpP99 are NaN, and the rest takes half the time
    /// Rows whose recorded digests are all equal are taken for identical, without reading their values.
    /// False: all values are read, and a digest that contradicts them is an error.
    bool trustsDigests = false;
    /// One row only: the last up to this step that both have written by now. `first` then tells nothing.
    std::optional<std::int64_t> lastUpTo{};
};

/// Compares rows as they appear; keeps what it has compared.
class RunComparer {
public:
    /// Borrows both readers. Values are compared where both keep them, whole or the same samples; else what
    /// the run's recorder measured against this reference is taken; else digests tell only whether bits are
    /// equal, and the metrics of what differs are NaN. Throws RecordingError if their tensors differ in name or
    /// shape: two models, not two runs of one.
    RunComparer(const RunReader& run, const RunReader& reference, ComparisonOptions options = {});

    /// Compares the common rows that both have written by now, on `threads` threads. Returns true if
    /// there were new ones. A stop request ends it early, between rows. Throws RecordingError if a digest
    /// contradicts the values that were read.
    bool update(int threads = 1, std::stop_token stop = {});

    [[nodiscard]] const RunComparison& result() const { return m_result; }

private:
    struct Pair {
        std::size_t row, referenceRow;
    };
    enum class Source { Values, Samples, Recording, Digests };
    struct RowResult;
    [[nodiscard]] bool isMixed(std::size_t tensor) const;
    [[nodiscard]] bool hasEqualDigest(std::size_t tensor, Pair pair) const;
    [[nodiscard]] bool hasEqualDigests(Pair pair) const;
    void compareRow(Pair pair, RowResult& out) const;
    void compareValues(Pair pair, RowMeasurement& out) const;
    void compareDigests(Pair pair, RowMeasurement& out) const;
    void readRecording(Pair pair, RowMeasurement& out) const;
    void append(std::int64_t step, const RowResult& row);

    const RunReader& m_run;
    const RunReader& m_reference;
    ComparisonOptions m_options;
    std::vector<std::pair<std::size_t, std::size_t>> m_tensors; ///< parameter of the run and of the reference
    Source m_source = Source::Values;
    std::vector<Pair> m_pairs; ///< all common steps, written or not
    RunComparison m_result;
};

/// Compares all that both have. Throws RecordingError.
RunComparison compareRuns(const RunReader& run, const RunReader& reference, int threads = 1,
                          ComparisonOptions options = {});

} // namespace driftscope
