// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest set of causes by delta debugging. Pure: what a set does, a callback says.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace driftscope {

/// Positions, rising.
using Subset = std::vector<std::size_t>;

struct MinimalSubset {
    std::optional<Subset> kept; ///< none: not even all of them together work
    std::size_t tests = 0;      ///< calls of the predicate: no set is asked for twice
};

/// A 1-minimal subset of 0 … count − 1 that works: without any one of its members it does not (ddmin of Zeller and
/// Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, with the empty set tried first). Of several,
/// one from the front of the order is preferred: parts are tried from the front and dropped from the back. Where
/// larger sets may fail though smaller ones work, the result still works and is still 1-minimal, if all together work.
MinimalSubset minimalSubset(std::size_t count, const std::function<bool(const Subset&)>& works);

} // namespace driftscope
