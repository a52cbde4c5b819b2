#include "cell/session.hpp"

#include "jail/setup_step.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace cmcp::sandbox {
namespace {

bool ended(const unique_fd& pidfd, int patience_ms)
{
    pollfd wait{pidfd.get(), POLLIN, 0};
    return ::poll(&wait, 1, patience_ms) == 1;
}

void send(const unique_fd& pidfd, int signal) { ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); }

}  // namespace

session_list::session_list(unique_fd processes) : entries_(::fdopendir(processes.get()), ::closedir)
{
    if (!entries_) throw step_failed("see the processes of the cell");
    static_cast<void>(processes.release());
}

// A number may be another process's by the time it is looked at; its pidfd is not.
std::vector<unique_fd> session_list::living(pid_t session) const
{
    std::vector<unique_fd> members;
    ::rewinddir(entries_.get());
    while (const dirent* entry = ::readdir(entries_.get())) {
        const auto process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (process <= 1 || ::getsid(process) != session) continue;
        unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
        if (pidfd && ::getsid(process) == session && !ended(pidfd, 0)) members.push_back(std::move(pidfd));
    }
    return members;
}

void session_list::hang_up(pid_t session) const
{
    for (const unique_fd& each : living(session)) {
        send(each, SIGHUP);
        send(each, SIGCONT);
    }
}

// A process that forks between two looks has a child that the next look finds.
bool session_list::kill(pid_t session) const
{
    constexpr int most_looks = 100, patience_ms = 100;
    for (int look = 0; look != most_looks; ++look) {
        const std::vector<unique_fd> members = living(session);
        if (members.empty()) return true;
        for (const unique_fd& each : members) send(each, SIGKILL);
        for (const unique_fd& each : members) ended(each, patience_ms);
    }
    return false;
}

}  // namespace cmcp::sandbox
