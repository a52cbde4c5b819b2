#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace cmcp {

inline void kill_process(int pidfd) { ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0); }

/// Waits for the end of a process and collects it. All zero: it was no child of this process.
inline siginfo_t collect_process(int pidfd)
{
    siginfo_t end{};
    while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &end, WEXITED) != 0 && errno == EINTR) {
    }
    return end;
}

}  // namespace cmcp
