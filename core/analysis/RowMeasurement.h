// SPDX-License-Identifier: GPL-3.0-or-later
// All metrics of one row: a run's tensors against the reference's, with the aggregates over layers and the
// model from the same sums.
#pragma once

#include "analysis/Metric.h"
#include "recording/RunReader.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace driftscope {

/// What a curve is about: the whole model, a layer, or one tensor.
enum class ScopeKind { Model, Layer, Tensor };
struct Scope {
    ScopeKind kind = ScopeKind::Model;
    std::string name; ///< "" for the model, "fc1", "fc1.weight"
    bool operator==(const Scope&) const = default;
};

/// The model first, then layers in the order of the model, then tensors.
std::vector<Scope> scopesOf(std::span<const TensorInfo> tensors);

/// Positions of the tensors that belong to a scope, rising.
std::vector<std::size_t> tensorsOf(std::span<const TensorInfo> tensors, const Scope& scope);

struct RowMeasurement {
    std::array<std::vector<double>, metricCount> values; ///< per metric, per scope
    std::array<std::uint64_t, ulpBinCount> ulpHistogram{}; ///< of the model

    /// Of a tensor, by its position among the tensors.
    [[nodiscard]] double ofTensor(Metric metric, std::size_t tensor, std::size_t tensors) const {
        const std::vector<double>& all = values[static_cast<std::size_t>(metric)];
        return all[all.size() - tensors + tensor];
    }
};

/// run and reference: the values of every tensor, in the order of `tensors`. 16-bit values are compared as the
/// float32 they are, with distances in units of their own type; where the types differ, the coarser type's.
/// Without percentiles UlpP50 and UlpP99 are NaN, and the rest takes half the time.
RowMeasurement measureRow(std::span<const TensorInfo> tensors, std::span<const TensorRow> run,
                          std::span<const TensorRow> reference, bool hasPercentiles = true);

} // namespace driftscope
