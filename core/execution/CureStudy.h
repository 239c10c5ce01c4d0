// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded study as the search for a cure sees it: the runs that can be compared, and how they stand.
#pragma once

#include "recording/StudyFolder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace driftscope {

/// A finished run. A reference is a subject too, but never compared.
struct CureSubject {
    RunConfig config;
    std::size_t reference = 0; ///< position among the subjects; its own for a reference
    std::int64_t steps = 0;    ///< it has trained
    std::optional<std::int64_t> recordedDifference; ///< first recorded step with other bits than the reference's
    std::map<std::size_t, std::string> refusals{};  ///< positions of remedies that it can't have, and why

    [[nodiscard]] bool isReference() const { return config.isReference; }
};

struct LeftOut {
    std::string id, reason;
};

struct CureStudy {
    std::vector<CureSubject> subjects;
    std::vector<LeftOut> leftOut; ///< runs that can't take part; twins and controls are not named
};

/// Reads the recordings. Throws StudyError if no finished run has a finished reference to be compared with.
CureStudy readCureStudy(const StudyFolder& folder);

} // namespace driftscope
