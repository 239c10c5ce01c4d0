// SPDX-License-Identifier: GPL-3.0-or-later
#include "Interruption.h"

#include <csignal>

namespace driftscope::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

} // namespace

Interruption::Interruption() {
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, [](int) { interrupted = 1; });
}

Interruption::~Interruption() {
    for (const int signal : {SIGINT, SIGTERM})
        std::signal(signal, SIG_DFL);
}

bool Interruption::hasCome() { return interrupted != 0; }

} // namespace driftscope::cli
