#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

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

/// The same by its number: the status of waitpid(), or -1 with errno.
inline int collect_child(pid_t child)
{
    int status = -1;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/// Does `work` in a forked child, which ends with its result. The status of waitpid(), or -1 with errno.
template <class Work>
int in_forked_child(Work work)
{
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    return collect_child(child);
}

/// The argument of execve(): the texts and a null pointer. The texts must outlive it.
inline std::vector<char*> pointers(std::vector<std::string>& texts)
{
    std::vector<char*> result;
    for (auto& text : texts) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

}  // namespace cmcp
