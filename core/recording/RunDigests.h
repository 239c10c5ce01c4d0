// SPDX-License-Identifier: GPL-3.0-or-later
// All weights and gradients of a run as one digest per recorded step: 16 bytes that tell whether two runs have equal
// bits there.
#pragma once

#include "recording/Digest.h"
#include "recording/RunReader.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace driftscope {

struct RunDigests {
    std::vector<std::int64_t> steps; ///< rising
    /// Per step: digest of every tensor's name, type and shape and of the digests of its weights and its gradient.
    std::vector<Digest> rows;
};

/// Of the rows that are written. Throws RecordingError.
RunDigests digestsOf(const RunReader& run);

/// The first step that both have with other digests; none: equal at all of them.
std::optional<std::int64_t> firstDifferentStep(const RunDigests& a, const RunDigests& b);

} // namespace driftscope
