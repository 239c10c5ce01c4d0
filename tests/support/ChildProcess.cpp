// SPDX-License-Identifier: GPL-3.0-or-later
#include "support/ChildProcess.h"

#include <array>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

namespace driftscope::test {
namespace {

constexpr int crashedInHdf5 = 42;

void* interruptedAt([[maybe_unused]] void* context) {
#if defined(__x86_64__)
    return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<void*>(static_cast<ucontext_t*>(context)->uc_mcontext.pc);
#else
    return nullptr;
#endif
}

/// Whose function is innermost: libhdf5's, or the test program's.
void onCrash(int signal, siginfo_t*, void* context) {
    std::array<void*, 128> frames;
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    bool isBelowHandler = false;
    for (int i = 0; i < count; ++i) {
        const auto frame = static_cast<std::size_t>(i);
        isBelowHandler |= frames[frame] == interruptedAt(context);
        Dl_info info{};
        if (!isBelowHandler || ::dladdr(frames[frame], &info) == 0 || !info.dli_fname)
            continue;
        if (std::strstr(info.dli_fname, "libhdf5"))
            ::_exit(crashedInHdf5);
        if (std::strstr(info.dli_fname, "core_tests"))
            break;
    }
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

void watchForCrashes() {
    static std::array<std::byte, 1 << 16> stack; // the usual one may have overflown
    stack_t alternative{};
    alternative.ss_sp = stack.data();
    alternative.ss_size = stack.size();
    ::sigaltstack(&alternative, nullptr);
    void* once = nullptr;
    ::backtrace(&once, 1); // loads what it needs while memory is sound
    struct sigaction action {};
    action.sa_sigaction = onCrash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM})
        ::sigaction(signal, &action, nullptr);
}

} // namespace

ChildResult runInChild(const std::function<void()>& work) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0)
        throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
#ifndef __SANITIZE_ADDRESS__
        const rlimit memory{rlim_t{4} << 30, rlim_t{4} << 30};
        ::setrlimit(RLIMIT_AS, &memory);
#endif
        watchForCrashes();
        ::alarm(20);
        std::string problem;
        try {
            work();
        } catch (const std::exception& error) {
            problem = std::string("exception: ") + error.what();
        } catch (...) {
            problem = "an exception of no known type";
        }
        [[maybe_unused]] const ssize_t n = ::write(pipe[1], problem.data(), problem.size());
        ::_exit(0);
    }
    ::close(pipe[1]);
    ChildResult result;
    std::array<char, 4096> buffer;
    if (const ssize_t n = ::read(pipe[0], buffer.data(), buffer.size()); n > 0)
        result.problem.assign(buffer.data(), static_cast<std::size_t>(n));
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        result.problem = std::string("killed by ") + ::strsignal(WTERMSIG(status));
    else if (const int code = WEXITSTATUS(status); code != 0) {
        result.isInHdf5 = code == crashedInHdf5;
        result.problem = "exit status " + std::to_string(code);
    }
    return result;
}

} // namespace driftscope::test
