// SPDX-License-Identifier: GPL-3.0-or-later
// ReLU units that are on for a sample in one run and off in the other, in the step where the two part, and how much of
// the gradient's difference comes from the samples that have some.
#pragma once

#include "recording/Trace.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace driftscope {

struct FlipShare {
    struct Module {
        std::string name;          ///< whose output the ReLU takes
        std::uint64_t units = 0;   ///< of all samples that both have
        std::uint64_t flipped = 0;
    };
    std::vector<Module> modules;       ///< in the order of execution; those whose values both traces keep
    std::int64_t comparedSamples = 0;
    std::vector<std::int64_t> samples; ///< ids of those with a flip
    /// ⟨Δ_F, Δ⟩ / ⟨Δ, Δ⟩, where Δ is the difference of the gradients and Δ_F that of the gradients of these samples alone.
    /// NaN: not measured, or no difference.
    double ofGradient = std::numeric_limits<double>::quiet_NaN();

    [[nodiscard]] std::uint64_t flipped() const {
        std::uint64_t count = 0;
        for (const Module& module : modules)
            count += module.flipped;
        return count;
    }
};

/// Everything but ofGradient. Throws RecordingError.
FlipShare countFlips(const TraceReader& a, const TraceReader& b);

/// onlyA and onlyB: the same step again, in which only the samples with flips count. Throws RecordingError.
double shareOfGradient(const TraceReader& a, const TraceReader& b, const TraceReader& onlyA, const TraceReader& onlyB);

} // namespace driftscope
