// SPDX-License-Identifier: GPL-3.0-or-later
// Tiny run files with values written out by hand.
#pragma once

#include "recording/RunWriter.h"

#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace driftscope::test {

/// Values of every parameter, converted to its type.
using Values = std::vector<std::vector<double>>;

struct TestRow {
    std::int64_t step = 0;
    Values weights;
    Values gradients{}; ///< empty: the row has none
    double loss = std::numeric_limits<double>::quiet_NaN();
    std::vector<std::int64_t> sampleIds{}; ///< those missing at the end are −1
    Digest batchDigest{};
};

struct TestRun {
    RunConfig config;
    std::vector<TensorInfo> parameters;
    std::vector<TestRow> rows;
    RunState state = RunState::Finished;
    std::string message{};
    std::size_t written = std::numeric_limits<std::size_t>::max(); ///< rows really appended
};

/// A valid configuration: synthetic data, two samples a batch, as many steps as asked for.
RunConfig tinyConfig(const std::string& id = "tiny", std::int64_t steps = 3);

RunRow filled(const TestRun& run, const TestRow& values);
RunSchema schemaOf(const TestRun& run);
void writeRun(const std::filesystem::path& file, const TestRun& run);

} // namespace driftscope::test
