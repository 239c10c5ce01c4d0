// SPDX-License-Identifier: GPL-3.0-or-later
// The smallest set of remedies that makes a study's runs bit-identical to their references, found by delta debugging
// over short trainings and proved by training every run again.
#pragma once

#include "execution/CureStudy.h"
#include "execution/Remedies.h"
#include "recording/StudyFolder.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace driftscope {

struct UncuredRun {
    std::string id, label;
    std::vector<std::string> axes; ///< settings that still differ and matter
    std::string reason;
};

/// A remedy that some runs, or all, can't have.
struct RefusedRemedy {
    std::string key, name, reason;
};

struct CureResult {
    bool isIdentical = false;           ///< the recorded runs are already: nothing was trained
    std::vector<std::string> cured;     ///< ids of runs that differed and, with the remedies, do not
    std::vector<std::string> unharmed;  ///< ids of runs that were identical and still are
    std::vector<UncuredRun> uncured;
    std::vector<LeftOut> leftOut;       ///< runs that did not take part
    std::vector<Remedy> remedies;       ///< the minimal set
    std::vector<RefusedRemedy> refused;
    bool isVerified = false;            ///< all of `cured` and `unharmed` were trained again, to their last step
    std::int64_t verifiedSteps = 0;     ///< the most of one of them
    double secondsWithout = 0, secondsWith = 0; ///< per step of a reference; 0 where nothing was measured
    std::int64_t trainings = 0;         ///< that finished, all together
    Prescription prescription;
    std::vector<std::string> notes;     ///< a sentence each

    /// Every run that took part is cured, and that is proved.
    [[nodiscard]] bool isComplete() const { return isVerified && uncured.empty(); }
    [[nodiscard]] double slowdown() const { return secondsWith / secondsWithout; }
};

struct CureOptions {
    std::filesystem::path worker;
    int cores = 1;
    std::function<void(const std::string&)> progress = [](const std::string&) {}; ///< a line of text
};

/// Trains in a private folder beside the study (or in $TMPDIR), which is gone afterwards. Returns nothing if a stop
/// was asked for. Throws StudyError, RecordingError or ExecutionError.
std::optional<CureResult> findCure(const StudyFolder& folder, const CureOptions& options, const std::stop_token& stop);

} // namespace driftscope
