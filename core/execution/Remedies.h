// SPDX-License-Identifier: GPL-3.0-or-later
// What can make a study's runs bit-identical: settings that leave alone what the user varies on purpose. Pure.
#pragma once

#include "study/RunConfig.h"
#include "study/Setting.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace driftscope {

struct Remedy {
    std::string key;      ///< the setting it is about, unique: "threads"
    std::string name;     ///< "fixed threads"
    std::string sentence; ///< what it does
    std::vector<Assignment> settings;
    std::vector<std::pair<std::string, std::string>> environment; ///< variables, before the libraries load
    std::string python; ///< lines for PyTorch that do the same, after `import torch`
};

/// The remedies that change the configuration of one of these runs, those that cost least first. "Fixed" means the
/// value of the references among the runs; where each group has its own, there is no such remedy.
std::vector<Remedy> remediesFor(std::span<const RunConfig> runs);

/// The run with the remedy's settings; settings of GPUs leave a run on the CPU alone. Throws StudyError where the run
/// can't have them, as the canonical accumulator with batch statistics.
RunConfig withRemedy(RunConfig run, const Remedy& remedy);

/// What a training computes: the configuration as JSON without its names. Equal: the same training.
std::string contentOf(RunConfig run);

/// What to paste for all of these remedies together.
struct Prescription {
    std::string toml;                     ///< a [train] section
    std::vector<std::string> overrides;   ///< "threads=1", for `driftscope-cli run --set`
    std::vector<std::string> environment; ///< "OMP_NUM_THREADS=1"
    std::string python;                   ///< begins with the environment and `import torch`; "" without remedies
};

/// axes: keys of the study's, which override [train].
Prescription prescribe(std::span<const Remedy> remedies, std::span<const std::string> axes);

} // namespace driftscope
