// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/RecordedEvidence.h"

#include "recording/HalfPrecision.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace driftscope {
namespace {

std::vector<double> valuesOf(const TensorRow& row) {
    const auto wide = [](auto values) { return std::vector<double>(values.begin(), values.end()); };
    switch (row.dtype()) {
    case DType::Float64: return wide(row.values<double>());
    case DType::Float16:
    case DType::BFloat16: return wide(widened(row.bytes(), row.dtype()));
    default: return wide(row.values<float>());
    }
}

/// ⟨a, r⟩, ⟨a, a⟩ and ⟨r, r⟩.
struct Products {
    double ar = 0, aa = 0, rr = 0;
    void operator+=(const Products& other) {
        ar += other.ar;
        aa += other.aa;
        rr += other.rr;
    }
};

double cosineDistance(std::span<const double> a, std::span<const double> r, const Products& products) {
    const double na = std::sqrt(products.aa), nr = std::sqrt(products.rr);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = a[i] / na - r[i] / nr;
        sum += difference * difference;
    }
    return sum / 2;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

std::optional<GradientEvidence> compareGradients(const RunReader& run, std::size_t row, const RunReader& reference,
                                                 std::size_t referenceRow, const Pairs& tensors) {
    struct Tensor {
        Products products;
        double cosine = 0;
    };
    std::vector<Tensor> compared;
    Products all;
    double squaredDifference = 0;
    for (const auto& [i, j] : tensors) {
        const auto ours = run.gradientSample(i, row), theirs = reference.gradientSample(j, referenceRow);
        if (!ours || !theirs)
            return std::nullopt;
        const std::vector<double> a = valuesOf(*ours), r = valuesOf(*theirs);
        if (a.size() != r.size())
            return std::nullopt;
        // a sample stands for its whole tensor: a large one counts for more
        const double weight =
            a.empty() ? 0 : static_cast<double>(run.parameters()[i].elements()) / static_cast<double>(a.size());
        Products own;
        double difference = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
            own += {a[k] * r[k], a[k] * a[k], r[k] * r[k]};
            difference += (a[k] - r[k]) * (a[k] - r[k]);
        }
        if (!std::isfinite(own.aa) || !std::isfinite(own.rr))
            return std::nullopt; // no row of its own, or an overflow
        squaredDifference += weight * difference;
        all += {weight * own.ar, weight * own.aa, weight * own.rr};
        if (own.rr > 0 && own.aa > 0)
            compared.push_back({own, cosineDistance(a, r, own)});
    }
    GradientEvidence evidence;
    if (all.rr == 0) {
        evidence.relative = squaredDifference == 0 ? 0 : std::numeric_limits<double>::infinity();
        return evidence;
    }
    evidence.relative = std::sqrt(squaredDifference / all.rr);
    evidence.factor = all.ar / all.rr;
    for (const Tensor& tensor : compared) {
        const double own = tensor.products.ar / tensor.products.rr;
        evidence.factorSpread = std::max(evidence.factorSpread, std::abs(own / evidence.factor - 1));
        evidence.cosineDistance = std::max(evidence.cosineDistance, tensor.cosine);
    }
    return evidence;
}

SampleSets compareSamples(std::vector<std::int64_t> ours, std::vector<std::int64_t> theirs) {
    if (ours.empty() || theirs.empty())
        return SampleSets::Unknown;
    if (ours == theirs)
        return SampleSets::Same;
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    return ours == theirs ? SampleSets::Reordered : SampleSets::Other;
}

} // namespace

void gatherEvidence(const RunReader& run, const RunReader& reference, RecordedEvidence& evidence) {
    Pairs tensors;
    for (std::size_t i = 0; i < run.parameters().size(); ++i) {
        const auto other = std::ranges::find(reference.parameters(), run.parameters()[i].name, &TensorInfo::name);
        if (other != reference.parameters().end() && other->shape == run.parameters()[i].shape)
            tensors.emplace_back(i, static_cast<std::size_t>(other - reference.parameters().begin()));
    }
    const auto steps = run.steps().first(static_cast<std::size_t>(run.progress().rows));
    const auto others = reference.steps().first(static_cast<std::size_t>(reference.progress().rows));
    const std::int64_t seen = evidence.rows.empty() ? -1 : evidence.rows.back().step;
    for (std::size_t i = 0, j = 0; i < steps.size() && j < others.size();) {
        if (steps[i] != others[j] || steps[i] <= seen) {
            const bool advancesRun = steps[i] <= others[j], advancesReference = others[j] <= steps[i];
            i += advancesRun;
            j += advancesReference;
            continue;
        }
        EvidenceRow row{.step = steps[i]};
        if (const auto ours = run.randomState(i), theirs = reference.randomState(j); ours && theirs) {
            row.drawsRandomly =
                ours->beforeForward != ours->afterBackward || theirs->beforeForward != theirs->afterBackward;
            row.differsInRandomState = ours->afterBackward != theirs->afterBackward;
        }
        if (row.step > 0) {
            const std::vector<std::int64_t> ids = run.sampleIds(i);
            row.isIncomplete = !ids.empty() && ids.back() < 0;
            row.samples = compareSamples(ids, reference.sampleIds(j));
            const auto ours = run.batchDigest(i), theirs = reference.batchDigest(j);
            row.haveOtherBatches = ours && theirs && *ours != *theirs;
            for (const auto& [t, u] : tensors) {
                const auto a = run.gradientDigest(t, i), r = reference.gradientDigest(u, j);
                row.differsInGradient |= a && r && *a != *r;
            }
            row.gradient = compareGradients(run, i, reference, j, tensors);
        }
        evidence.rows.push_back(row);
        ++i;
        ++j;
    }
}

} // namespace driftscope
