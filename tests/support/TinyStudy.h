// SPDX-License-Identifier: GPL-3.0-or-later
// A study folder with recorded runs, without any training.
#pragma once

#include "recording/StudyFolder.h"
#include "support/RunFiles.h"

#include <filesystem>
#include <string>

namespace driftscope::test {

/// Two layers, three rows; weight fc1.weight[0] of rows 1 and 2 is off by `difference` and twice
/// that.
inline TestRun tinyRun(const RunConfig& config, double difference) {
    TestRun run{
        config, {{"fc1.weight", DType::Float32, {2}}, {"out.bias", DType::Float32, {1}}}, {}};
    for (std::int64_t step = 0; step < 3; ++step)
        run.rows.push_back({step, {{1 + static_cast<double>(step) * difference, 2}, {4}}, {}, 0.5});
    run.rows[0].loss = std::numeric_limits<double>::quiet_NaN();
    return run;
}

/// threads = [1, 2, 3]; by default thr 1 is the reference. Runs are not yet there.
inline StudyFolder tinyStudy(const std::filesystem::path& path,
                             const std::string& axes = "threads = [1, 2, 3]",
                             const std::string& studyKeys = "") {
    return createStudyFolder(path,
                             parseStudy("[study]\nname = \"tiny\"\n" + studyKeys +
                                            "\n[data]\nkind = \"synthetic\"\nshape = [1, 2, 2]\n"
                                            "[train]\nsteps = 2\nbatch = 2\n[axes]\n" +
                                            axes,
                                        "/tiny.toml"));
}

} // namespace driftscope::test
