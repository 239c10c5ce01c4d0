// SPDX-License-Identifier: GPL-3.0-or-later
// Runs snippets of Python with h5py and NumPy, the tests' independent witness of files and numbers.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace driftscope::test {

struct PythonResult {
    int exitCode = -1;
    std::string output;          ///< stdout and stderr
    bool hasNoLibraries = false; ///< h5py or NumPy is missing: the snippet was not run
};

/// `code` finds h5py, numpy as np, json, os and sys imported and `args` in sys.argv[1:].
PythonResult runPython(std::string_view code, const std::vector<std::string>& args);

} // namespace driftscope::test

/// Declares `output`, what the snippet printed; skips the test without h5py, fails it if Python
/// fails.
#define PYTHON_OUTPUT(output, ...)                                                                 \
    const ::driftscope::test::PythonResult output##Result =                                        \
        ::driftscope::test::runPython(__VA_ARGS__);                                                \
    if (output##Result.hasNoLibraries)                                                             \
        GTEST_SKIP() << DRIFTSCOPE_PYTHON << " has no h5py or numpy: " << output##Result.output;   \
    ASSERT_EQ(output##Result.exitCode, 0) << output##Result.output;                                \
    [[maybe_unused]] const std::string& output = output##Result.output
