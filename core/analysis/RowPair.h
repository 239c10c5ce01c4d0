// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of a run and of its reference at one step, opened to look at single values.
#pragma once

#include "analysis/StudyResults.h"
#include "recording/RunReader.h"

#include <optional>
#include <span>
#include <vector>

namespace driftscope {

/// One tensor at one row. Values are float64, whatever their type in the file.
struct TensorPair {
    TensorInfo info;             ///< of the run's tensor
    std::vector<double> run;
    std::vector<double> reference; ///< empty: there is no reference
};

/// A run beside its reference, at the last step up to the one asked for that both have written; the reference itself is
/// alone.
class RowPair {
public:
    /// Throws RecordingError, which names the file, where a file can't be read, or nothing is written up to that step.
    RowPair(const StudyResults& results, std::size_t run, std::int64_t step);

    [[nodiscard]] std::int64_t step() const { return m_run.steps()[m_row]; }
    [[nodiscard]] bool hasReference() const { return m_reference.has_value(); }
    /// Whole tensors, or a sample of them; throws as weights() does where only digests are kept.
    [[nodiscard]] bool isSample() const { return m_run.weightsLevel() == WeightsLevel::Sample; }

    [[nodiscard]] std::span<const TensorInfo> tensors() const { return m_run.parameters(); }
    /// Of the run, by its position. Throws RecordingError where values are not kept, or the reference keeps others.
    [[nodiscard]] TensorPair tensor(std::size_t position) const;

private:
    RunReader m_run;
    std::optional<RunReader> m_reference;
    std::size_t m_row = 0;
    std::size_t m_referenceRow = 0;
};

} // namespace driftscope
