// SPDX-License-Identifier: GPL-3.0-or-later
#include "Interruption.h"

#include "Command.h"

#include <fmt/format.h>

#include <csignal>
#include <system_error>
#include <utility>

namespace driftscope::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

} // namespace

Interruption::Interruption()
    : m_beforeInterrupt(std::signal(SIGINT, [](int) { interrupted = 1; })),
      m_beforeTerminate(std::signal(SIGTERM, [](int) { interrupted = 1; })) {}

Interruption::~Interruption() {
    std::signal(SIGINT, m_beforeInterrupt);
    std::signal(SIGTERM, m_beforeTerminate);
}

bool Interruption::hasCome() { return interrupted != 0; }

std::jthread startThread(std::function<void()> work) {
    try {
        return std::jthread(std::move(work));
    } catch (const std::system_error& error) {
        throw UsageError(fmt::format("no thread could be started: {}; are there too many processes, or too little memory?",
                                     error.code().message()));
    }
}

} // namespace driftscope::cli
