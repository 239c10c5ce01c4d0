// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/DeltaDebugging.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace driftscope {
namespace {

/// n parts of nearly equal size, none empty: n ≤ whole.size().
std::vector<Subset> partsOf(const Subset& whole, std::size_t n) {
    std::vector<Subset> parts;
    for (std::size_t i = 0; i < n; ++i) {
        const auto first = static_cast<std::ptrdiff_t>(i * whole.size() / n);
        const auto last = static_cast<std::ptrdiff_t>((i + 1) * whole.size() / n);
        parts.emplace_back(whole.begin() + first, whole.begin() + last);
    }
    return parts;
}

Subset without(const Subset& whole, const Subset& part) {
    Subset rest;
    std::ranges::set_difference(whole, part, std::back_inserter(rest));
    return rest;
}

} // namespace

MinimalSubset minimalSubset(std::size_t count, const std::function<bool(const Subset&)>& works) {
    std::map<Subset, bool> known;
    const auto test = [&](const Subset& subset) {
        if (const auto found = known.find(subset); found != known.end())
            return found->second;
        return known[subset] = works(subset);
    };
    Subset current(count);
    std::iota(current.begin(), current.end(), std::size_t{0});
    if (test({}))
        return {Subset{}, known.size()};
    if (!test(current))
        return {std::nullopt, known.size()};

    for (std::size_t n = 2; current.size() >= 2;) {
        const std::vector<Subset> parts = partsOf(current, n);
        if (const auto part = std::ranges::find_if(parts, test); part != parts.end()) {
            current = *part;
            n = 2;
            continue;
        }
        const auto dropped = std::find_if(parts.rbegin(), parts.rend(),
                                          [&](const Subset& part) { return test(without(current, part)); });
        if (dropped != parts.rend()) {
            current = without(current, *dropped);
            n = std::max<std::size_t>(n - 1, 2);
        } else if (n < current.size()) {
            n = std::min(2 * n, current.size());
        } else {
            break;
        }
    }
    return {current, known.size()};
}

} // namespace driftscope
