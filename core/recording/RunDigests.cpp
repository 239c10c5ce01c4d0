// SPDX-License-Identifier: GPL-3.0-or-later
#include "recording/RunDigests.h"

#include <cstddef>
#include <span>
#include <string>

namespace driftscope {
namespace {

Digest digestOfTensors(std::span<const TensorInfo> tensors) {
    std::string text;
    for (const TensorInfo& tensor : tensors) {
        text += tensor.name + '\0' + std::string(nameOf(tensor.dtype)) + '\0';
        for (const std::uint64_t extent : tensor.shape)
            text += std::to_string(extent) + '\0';
        text += '\0';
    }
    return digestOf(std::as_bytes(std::span(text)));
}

} // namespace

RunDigests digestsOf(const RunReader& run) {
    const auto count = static_cast<std::size_t>(run.progress().rows);
    RunDigests digests;
    digests.steps.assign(run.steps().begin(), run.steps().begin() + static_cast<std::ptrdiff_t>(count));
    const Digest tensors = digestOfTensors(run.parameters());
    for (std::size_t row = 0; row < count; ++row) {
        std::vector<Digest> all{tensors};
        for (std::size_t i = 0; i < run.parameters().size(); ++i) {
            all.push_back(run.weightDigest(i, row));
            all.push_back(run.gradientDigest(i, row).value_or(Digest{}));
        }
        digests.rows.push_back(digestOf(std::as_bytes(std::span(all))));
    }
    return digests;
}

std::optional<std::int64_t> firstDifferentStep(const RunDigests& a, const RunDigests& b) {
    for (std::size_t i = 0, j = 0; i < a.steps.size() && j < b.steps.size();) {
        if (a.steps[i] != b.steps[j]) {
            ++(a.steps[i] < b.steps[j] ? i : j);
            continue;
        }
        if (a.rows[i] != b.rows[j])
            return a.steps[i];
        ++i;
        ++j;
    }
    return std::nullopt;
}

} // namespace driftscope
