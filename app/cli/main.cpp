// SPDX-License-Identifier: GPL-3.0-or-later
#include "Command.h"

#include "execution/WorkerProtocol.h"
#include "recording/RunFile.h"
#include "recording/Version.h"
#include "study/Setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace {

using namespace driftscope;

int outputFailed() {
    fmt::print(stderr, "driftscope-cli: standard output cannot be written: {}\n", std::strerror(errno != 0 ? errno : EIO));
    return cli::BadInput;
}

/// The exit code, unless what was printed got lost: a full disk may show only now.
int withOutputWritten(int exitCode) {
    if (std::ferror(stdout) == 0)
        errno = 0;
    const bool isWritten = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return isWritten ? exitCode : outputFailed();
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Finds out why two trainings that should be identical are not.\n"
                 "Exit codes: 0 done, 1 differs (diff), 2 bad input, 3 some runs failed or were unavailable, "
                 "130 interrupted.",
                 "driftscope-cli");
    app.set_version_flag("--version", std::string(generatorName()));
    app.require_subcommand(1);
    app.get_formatter()->column_width(36);
    int exitCode = cli::Done;
    cli::addRun(app, exitCode);
    cli::addReport(app, exitCode);
    cli::addDiff(app, exitCode);
    cli::addCure(app, exitCode);
    cli::addExplain(app, exitCode);
    cli::addInfo(app, exitCode);
    cli::addExport(app, exitCode);
    cli::addDoctor(app, exitCode);
    cli::addWorker(app);
    try {
        app.parse(argc, argv);
        return withOutputWritten(exitCode);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) // --help, --version
            return withOutputWritten(app.exit(error));
        std::vector<std::string> names;
        for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
            names.push_back(command->get_name());
        const std::string_view first = argc > 1 ? argv[1] : "";
        const bool isUnknown = !first.empty() && first.front() != '-' && std::ranges::find(names, first) == names.end();
        const std::vector<std::string_view> candidates(names.begin(), names.end());
        fmt::print(stderr, "driftscope-cli: {}\nTry driftscope-cli --help\n",
                   isUnknown ? fmt::format("unknown command \"{}\"{}", first, didYouMean(first, candidates))
                             : std::string(error.what()));
    } catch (const std::exception& error) {
        if (std::ferror(stdout) != 0) // printing more than the buffer holds fails at once
            return outputFailed();
        fmt::print(stderr, "driftscope-cli: {}\n", error.what());
    }
    return cli::BadInput;
}
