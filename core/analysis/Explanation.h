// SPDX-License-Identifier: GPL-3.0-or-later
// Where two runs part, at which step, phase, tensor and operator, and what each module adds of its own: from
// traces of the first step in which they differ. Pure: the traces come from execution/Explain.
#pragma once

#include "analysis/FlipShare.h"
#include "analysis/TraceComparison.h"
#include "recording/Trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

/// The first operator that was given the same and put out something else.
struct OperatorDifference {
    std::string name;   ///< "aten::convolution_backward"
    std::string module; ///< "" where it ran in none
    Phase phase = Phase::Forward;
    std::size_t position = 0;      ///< in Trace::operators
    std::size_t operators = 0;     ///< that each of the runs calls in this step
    std::size_t inputs = 0;        ///< tensors, all with equal bits
    std::string argumentsA, argumentsB; ///< numbers it was given
    std::size_t output = 0;        ///< the first of its outputs that differs
    std::string dtype;
    std::vector<std::uint64_t> shape; ///< of that output
    Distance distance; ///< of that output; known once its values have been kept

    [[nodiscard]] bool hasOtherArguments() const { return argumentsA != argumentsB; }
    /// It draws random numbers, so that it has an input that is no tensor: the generator.
    [[nodiscard]] bool isRandom() const;
};

/// A module fed what it was fed in A, beside the module as B ran it.
struct ReplayedModule {
    std::string module;
    TensorComparison own;   ///< its error on A's inputs
    TensorComparison whole; ///< with what it inherits
};

/// Whether a run, trained again here, has the bits that its file records.
struct Reproduction {
    bool isChecked = false;
    bool isReproduced = true;
    std::int64_t firstStep = -1; ///< recorded, from which it does not
};

struct Explanation {
    bool isIdentical = false; ///< at all steps that both have recorded
    std::int64_t step = 0;    ///< the first that differs
    std::string phase;
    std::string tensor; ///< parameter, module, or what nameOf the phase calls it; "" where it is not known
    std::vector<PhaseComparison> phases; ///< of that step, in their order; none where it could not be traced
    bool isBySample = false;  ///< the two have other micro-batches or another order: aligned by the samples' ids
    std::optional<OperatorDifference> op;
    std::string whyNoOperator; ///< where there is none
    std::vector<ReplayedModule> replay;
    std::string whyNoReplay;
    std::optional<FlipShare> flips; ///< where the forward passes differ on the same batch
    Reproduction reproductionA, reproductionB;
    std::vector<std::string> settings; ///< in which the two differ: "train.threads: 1 → 2"
    std::vector<std::string> notes;

    [[nodiscard]] const PhaseComparison* find(Phase phase) const;
};

/// Fills step, phase, tensor, phases, isBySample, op and whyNoOperator. Throws RecordingError.
Explanation explainTraces(const TraceReader& a, const TraceReader& b);

/// The values of the operator that differs, kept in traces of their own. False where these traces have another
/// operator there, or other bits.
bool measureOperator(OperatorDifference& op, const TraceReader& a, const TraceReader& b);

/// replay: B's forward passes with A's outputs fed on. Throws RecordingError.
std::vector<ReplayedModule> compareReplay(const TraceReader& a, const TraceReader& b, const TraceReader& replay);

/// Two sentences for a person: what parts first, and what that says.
std::string whatHappened(const Explanation& explanation);
std::string whatItSays(const Explanation& explanation);

/// What is said of the forward phase: "identical in all 16 samples", "differs in 3 of 16 samples, first in conv1".
std::string forwardState(const Explanation& explanation);

/// "3 of 4800 units flip, in 2 of 16 samples, which carry 97 % of the gradient's difference"
std::string toText(const FlipShare& flips);

/// "12 ULP at most in 62 % of the elements", or that the values were not kept.
std::string toText(const Distance& distance);

} // namespace driftscope
