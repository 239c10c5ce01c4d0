// SPDX-License-Identifier: GPL-3.0-or-later
// Runs what may crash in a process of its own, and tells our crashes from those inside libhdf5,
// which some damaged files bring about and no caller can prevent.
#pragma once

#include <functional>
#include <string>

namespace driftscope::test {

struct ChildResult {
    std::string problem;   ///< "" if the work returned; else the exception or signal
    bool isInHdf5 = false; ///< libhdf5 itself crashed
};

/// The child has 20 seconds and 4 GiB of address space; under a sanitizer, which needs more, no
/// limit.
ChildResult runInChild(const std::function<void()>& work);

} // namespace driftscope::test
