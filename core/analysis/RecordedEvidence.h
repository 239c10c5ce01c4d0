// SPDX-License-Identifier: GPL-3.0-or-later
// What two recordings show beside the distance of their weights: whether each update saw the same samples, the same
// values of them and the same random numbers, and how the gradients stand to each other.
#pragma once

#include "recording/RunReader.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace driftscope {

/// a: the run's gradient, r: the reference's, over the elements that both files keep.
struct GradientEvidence {
    double relative = 0; ///< ‖a − r‖ / ‖r‖
    double factor = 1;   ///< ⟨a, r⟩ / ⟨r, r⟩, over all tensors
    /// Largest distance of a tensor's own factor from it, as a share of it.
    double factorSpread = 0;
    /// Largest of a tensor's ‖â − r̂‖² / 2.
    double cosineDistance = 0;
};

enum class SampleSets {
    Unknown,
    Same,      ///< the same samples in the same order
    Reordered, ///< the same samples in another order within the update
    Other,     ///< other samples
};

struct EvidenceRow {
    std::int64_t step = 0;
    SampleSets samples = SampleSets::Unknown;
    bool haveOtherBatches = false;              ///< digests of the batch's values differ
    bool isIncomplete = false;                  ///< an epoch's last update with fewer samples
    bool differsInGradient = false;             ///< by digest
    bool drawsRandomly = false;                 ///< the passes of one of the two consumed random numbers
    bool differsInRandomState = false;          ///< of the default generator, after the step's passes
    std::optional<GradientEvidence> gradient{}; ///< where both files keep elements of it
};

/// A row per common step, as far as both are written: step 0 has only the state of the generator.
struct RecordedEvidence {
    std::vector<EvidenceRow> rows;
};

/// Goes on where `evidence` ends. Tensors are matched by name; those that one lacks are left out. Throws
/// RecordingError.
void gatherEvidence(const RunReader& run, const RunReader& reference, RecordedEvidence& evidence);

} // namespace driftscope
