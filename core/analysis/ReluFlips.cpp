// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/ReluFlips.h"

#include <fmt/format.h>

#include <bit>
#include <numeric>

namespace driftscope {
namespace {

std::uint64_t countDifferences(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                               std::uint64_t units) {
    std::uint64_t count = 0;
    for (std::uint64_t byte = 0; byte * 8 < units; ++byte) {
        auto different = static_cast<std::uint8_t>(a[byte] ^ b[byte]);
        if (const std::uint64_t left = units - byte * 8; left < 8) // the first bit of a byte is its highest
            different = static_cast<std::uint8_t>(different & (0xFF00U >> left));
        count += static_cast<std::uint64_t>(std::popcount(different));
    }
    return count;
}

} // namespace

double ReluFlips::share(std::size_t row) const {
    std::uint64_t count = 0;
    for (std::size_t module = 0; module < modules.size(); ++module)
        count += at(row, module);
    const std::uint64_t all = std::accumulate(units.begin(), units.end(), std::uint64_t{0});
    return all == 0 ? 0 : static_cast<double>(count) / static_cast<double>(all);
}

ReluFlips reluFlips(const RunReader& run, const RunReader& reference) {
    ReluFlips flips;
    const auto ours = run.reluProbes(), theirs = reference.reluProbes();
    if (ours.empty() || theirs.empty())
        return flips;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours.size() != theirs.size() || ours[i].module != theirs[i].module || ours[i].units != theirs[i].units)
            throw RecordingError(fmt::format("{} and {} recorded the signs of other ReLUs or samples",
                                             run.file().string(), reference.file().string()));
        flips.modules.push_back(ours[i].module);
        flips.units.push_back(ours[i].units);
    }
    const auto rows = static_cast<std::size_t>(run.progress().rows);
    const auto referenceRows = static_cast<std::size_t>(reference.progress().rows);
    for (std::size_t i = 0, j = 0; i < rows && j < referenceRows;) {
        if (run.steps()[i] != reference.steps()[j]) {
            ++(run.steps()[i] < reference.steps()[j] ? i : j);
            continue;
        }
        flips.steps.push_back(run.steps()[i]);
        for (std::size_t module = 0; module < ours.size(); ++module)
            flips.flipped.push_back(
                countDifferences(run.reluSigns(module, i), reference.reluSigns(module, j), ours[module].units));
        ++i;
        ++j;
    }
    return flips;
}

} // namespace driftscope
