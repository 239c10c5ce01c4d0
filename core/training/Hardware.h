// SPDX-License-Identifier: GPL-3.0-or-later
// Applies the settings of the machine (threads, instruction set, device), reads them back, and says
// what this process really runs on. For core/training only.
#pragma once

#include "study/RunConfig.h"

#include <stdexcept>
#include <string>

namespace driftscope {

/// A setting that this machine or this LibTorch can't do; the message is the reason.
struct Unavailable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A setting that should have worked but reads back otherwise: nothing such a run says can be trusted.
struct SettingMismatch : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Applies what LibTorch's calls can set, with init_threads as the thread count; the environment variables were
/// set before this process began (execution/WorkerEnvironment). Then reads everything back. Called before the
/// network is made. Throws Unavailable or SettingMismatch.
void applyHardware(const TrainConfig& config);

/// The thread count of the training itself, once the network is initialised. Throws likewise.
void applyTrainingThreads(const TrainConfig& config);

/// Threads that an operator of this process may use now.
int threadCount();

/// The environment fingerprint, a JSON object: versions, libraries really loaded, CPU, GPU, relevant
/// variables, thread counts.
std::string environmentFingerprint();

} // namespace driftscope
