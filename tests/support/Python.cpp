// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/Python.h"

#include "support/Files.h"
#include "support/TemporaryFolder.h"

#include <array>
#include <cstdio>
#include <stdexcept>
#include <sys/wait.h>

namespace driftscope::test {
namespace {

constexpr int noLibraries = 77;

constexpr std::string_view prelude = R"(import json, os, sys
try:
    import h5py
    import numpy as np
except ImportError as error:
    print(error)
    sys.exit(77)
)";

void appendQuoted(std::string& command, std::string_view text) {
    command += '\'';
    for (const char c : text)
        if (c == '\'')
            command += "'\\''";
        else
            command += c;
    command += "' ";
}

} // namespace

PythonResult runPython(std::string_view code, const std::vector<std::string>& args) {
    const TemporaryFolder folder;
    const auto script = folder / "snippet.py";
    writeFile(script, std::string(prelude) + std::string(code));
    std::string command;
    appendQuoted(command, DRIFTSCOPE_PYTHON);
    appendQuoted(command, script.string());
    for (const std::string& arg : args)
        appendQuoted(command, arg);
    command += "2>&1";
    FILE* pipe = ::popen(command.c_str(), "r");
    if (!pipe)
        throw std::runtime_error("no shell can be started");
    PythonResult result;
    std::array<char, 4096> buffer;
    while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
        result.output.append(buffer.data(), n);
    const int status = ::pclose(pipe);
    result.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    // 127: there is no such interpreter
    result.hasNoLibraries = result.exitCode == noLibraries || result.exitCode == 127;
    return result;
}

} // namespace driftscope::test
