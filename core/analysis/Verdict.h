// SPDX-License-Identifier: GPL-3.0-or-later
// How a run stands to its reference, and what says so.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace driftscope {

/// One measurement that a verdict rests on, as data and as a sentence.
struct Evidence {
    std::string name; ///< "digests", "twins", "size", "factor", "samples", …: README lists them
    std::string text; ///< a sentence
    std::string says; ///< the kind that it speaks for, "not rounding", or "" where it only describes
    double value = std::numeric_limits<double>::quiet_NaN();
    double threshold = std::numeric_limits<double>::quiet_NaN(); ///< what the value was held against
};

struct Verdict {
    /// identical, rounding, precision, data, random, algorithmic, run-to-run or inconclusive; "" where there is nothing
    /// to judge: the reference itself, or no common rows.
    std::string kind;
    std::string summary; ///< two sentences: what it is, and what to do
    std::vector<Evidence> evidence;
};

} // namespace driftscope
