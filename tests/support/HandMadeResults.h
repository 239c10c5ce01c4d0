// SPDX-License-Identifier: GPL-3.0-or-later
// Study results with values written out by hand, for what is made of them.
#pragma once

#include "analysis/StudyResults.h"

#include <memory>
#include <string>
#include <vector>

namespace driftscope::test {

inline const Scope wholeModel{ScopeKind::Model, ""}, fc1{ScopeKind::Layer, "fc1"},
    fc1Weight{ScopeKind::Tensor, "fc1.weight"};

/// Scopes: model, fc1, fc1.weight. The metric has `values` for each, a row per step 0, 10, 20, …;
/// where a value is 0 all bits are equal, but for rows named in `zeroButChanged`.
inline std::shared_ptr<RunComparison>
comparisonOf(Metric metric, const std::vector<double>& values,
             const std::vector<std::size_t>& zeroButChanged = {}) {
    RunComparison comparison;
    comparison.scopes = {wholeModel, fc1, fc1Weight};
    for (auto& all : comparison.values)
        all.resize(values.size() * 3);
    for (std::size_t row = 0; row < values.size(); ++row) {
        comparison.steps.push_back(static_cast<std::int64_t>(10 * row));
        for (std::size_t scope = 0; scope < 3; ++scope) {
            comparison.values[static_cast<std::size_t>(metric)][row * 3 + scope] =
                values[row] * static_cast<double>(scope == 0 ? 1 : 2 * scope);
            comparison.values[static_cast<std::size_t>(Metric::Changed)][row * 3 + scope] =
                values[row] == 0 ? 0 : 1;
        }
    }
    for (const std::size_t row : zeroButChanged)
        for (std::size_t scope = 0; scope < 3; ++scope)
            comparison.values[static_cast<std::size_t>(Metric::Changed)][row * 3 + scope] = 0.5;
    comparison.ulpHistograms.resize(values.size());
    return std::make_shared<RunComparison>(std::move(comparison));
}

/// A study with these axes whose runs are finished and have nothing compared yet.
inline StudyResults resultsOf(const std::string& axes, const std::string& studyKeys = "") {
    StudyResults results;
    results.folder.study = parseStudy(
        "[study]\nname = \"by hand\"\n" + studyKeys +
            "\n[data]\nkind = \"synthetic\"\nshape = [1, 2, 2]\n[train]\nsteps = 2\n[axes]\n" +
            axes,
        "/s.toml");
    results.folder.runs = expand(results.folder.study);
    for (std::size_t i = 0; i < results.folder.runs.size(); ++i) {
        RunResult run;
        run.config = results.folder.runs[i];
        run.state = RunState::Finished;
        run.reference = results.folder.referenceOf(i);
        results.runs.push_back(run);
    }
    return results;
}

} // namespace driftscope::test
