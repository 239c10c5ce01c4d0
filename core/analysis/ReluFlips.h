// SPDX-License-Identifier: GPL-3.0-or-later
// Units of a probe batch that are on in one run and off in the other: rounding that has become another path.
#pragma once

#include "recording/RunReader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace driftscope {

struct ReluFlips {
    std::vector<std::string> modules;   ///< whose output the ReLU takes, in the order of the file
    std::vector<std::uint64_t> units;   ///< per module, of all samples of the probe
    std::vector<std::int64_t> steps;    ///< common recorded steps
    std::vector<std::uint64_t> flipped; ///< steps × modules, row-major

    [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t module) const {
        return flipped[row * modules.size() + module];
    }
    /// Share of all units at a row.
    [[nodiscard]] double share(std::size_t row) const;
};

/// Empty where one of the two recorded no signs. Throws RecordingError where they probed other modules or samples.
ReluFlips reluFlips(const RunReader& run, const RunReader& reference);

} // namespace driftscope
