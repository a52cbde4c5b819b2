#pragma once

#include "posix/unique_fd.hpp"

#include <signal.h>
#include <sys/signalfd.h>

#include <initializer_list>

namespace cmcp {

/// Blocks the signals in this thread; the descriptor is readable when one of them has come. None with errno.
inline unique_fd watch_signals(std::initializer_list<int> signals)
{
    sigset_t set;
    ::sigemptyset(&set);
    for (const int each : signals) ::sigaddset(&set, each);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

inline void unblock_signals()  ///< all of them, for a program that is executed next
{
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Those that Python ignores for itself end a program again that is executed next: `yes | head` ends without a word.
inline void stop_ignoring_signals()
{
    for (const int each : {SIGPIPE, SIGXFSZ}) ::signal(each, SIG_DFL);
}

}  // namespace cmcp
