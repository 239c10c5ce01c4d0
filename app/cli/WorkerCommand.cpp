// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "execution/WorkerProcess.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace driftscope::cli {

void addWorker(CLI::App& app) {
    // The worker is a program of its own: LibTorch and its 280 libraries take 0.4 s to load, which no
    // other command should pay.
    auto* command = app.add_subcommand("worker", "Train one run: JSON on stdin, JSON lines on stdout (internal)");
    command->group("");
    command->allow_extras();
    command->callback([command] {
        const std::string path = findWorker().string();
        std::vector<std::string> arguments = command->remaining();
        if (arguments.empty())
            arguments.emplace_back("--run");
        std::vector<char*> argv{const_cast<char*>(path.c_str())};
        for (std::string& argument : arguments)
            argv.push_back(argument.data());
        argv.push_back(nullptr);
        ::execv(path.c_str(), argv.data());
        throw UsageError(fmt::format("{}: cannot be started: {}", path, std::strerror(errno)));
    });
}

} // namespace driftscope::cli
