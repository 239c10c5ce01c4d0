// SPDX-License-Identifier: GPL-3.0-or-later
// Two traces of the same step, phase by phase: what has equal bits, and how far the rest is apart.
#pragma once

#include "recording/Trace.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

/// Of B's values from A's, which are the reference. NaN: not known, for they were not kept or are no real numbers.
struct Distance {
    double changed = std::numeric_limits<double>::quiet_NaN(); ///< share of elements whose bits differ
    double ulpMax = std::numeric_limits<double>::quiet_NaN();
    double relativeL2 = std::numeric_limits<double>::quiet_NaN();
    double maxAbsolute = std::numeric_limits<double>::quiet_NaN();
};

struct TensorComparison {
    std::string name;
    bool isIdentical = true;
    std::string onlyIn{};             ///< "A" or "B" where the other has none, else ""
    std::int64_t samples = 0;         ///< compared one by one; 0: as a whole
    std::int64_t differingSamples = 0;
    std::uint64_t elements = 0;
    Distance distance{0, 0, 0, 0};
    double factor = 1; ///< B's values are exactly so many times A's; 1: they are not, or equal
    std::string types{}; ///< "float32 → float64" where the two are of other types, else ""
    bool hasValues = true; ///< false for the samples' ids and weights, which are in no distance of the phase
};

struct PhaseComparison {
    Phase phase = Phase::Init;
    std::vector<TensorComparison> tensors; ///< in the order of execution; empty: nothing to compare
    std::string note;                      ///< what is not in the numbers, or ""

    [[nodiscard]] const TensorComparison* firstDifference() const;
    [[nodiscard]] bool isIdentical() const { return firstDifference() == nullptr; }
    [[nodiscard]] std::int64_t differingTensors() const;
    /// Over all values of the phase; NaN where a tensor's are not known.
    [[nodiscard]] double changed() const;
    [[nodiscard]] double ulpMax() const;
    /// The one factor between all tensors that differ, else 1.
    [[nodiscard]] double factor() const;
};

/// a and b: bytes of as many elements, in types named as in TracedTensor::dtype.
Distance distanceOf(const std::string& typeA, const std::vector<std::byte>& a, const std::string& typeB,
                    const std::vector<std::byte>& b);

/// The power of two, not 1, that all of b's values are exactly that many times a's; 1 if there is none.
double exactFactor(const std::string& type, const std::vector<std::byte>& a, const std::vector<std::byte>& b);

/// Batch, forward, the losses and backward are aligned by the samples' ids, whatever their order and micro-batches;
/// samples that only one of the two has are left out. Gradients come in the order of the backward pass. Throws
/// RecordingError.
PhaseComparison comparePhase(const TraceReader& a, const TraceReader& b, Phase phase);

} // namespace driftscope
