#include "cell/session.hpp"

#include "facilities/process_files.hpp"
#include "facilities/setup_step.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace cmcp::sandbox {
namespace {

bool ended(const unique_fd& pidfd, int patience_ms)
{
    pollfd wait{pidfd.get(), POLLIN, 0};
    return ::poll(&wait, 1, patience_ms) == 1;
}

void send(const unique_fd& pidfd, int signal) { ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0); }

ino_t pipe_at(const struct stat& status) { return S_ISFIFO(status.st_mode) ? status.st_ino : 0; }

ino_t pipe_of(int descriptor)
{
    struct stat status {};
    return ::fstat(descriptor, &status) == 0 ? pipe_at(status) : 0;
}

bool is_terminal(const struct stat& status)
{
    constexpr unsigned first_kind = 136, last_kind = 143;  // of pseudo-terminals (pts(4))
    const unsigned kind = major(status.st_rdev);
    return S_ISCHR(status.st_mode) && kind >= first_kind && kind <= last_kind;
}

// The terminal of its session is that of the run.
bool has_output(pid_t process, const run_outputs& outputs)
{
    for (const char* output : {"/fd/1", "/fd/2"}) {
        struct stat status {};
        const std::string path = "/proc/" + std::to_string(process) + output;
        if (::stat(path.c_str(), &status) != 0) continue;
        if (outputs.has(pipe_at(status)) || is_terminal(status)) return true;
    }
    return false;
}

std::string text_of(pid_t process, const char* file)
{
    return read_text(AT_FDCWD, "/proc/" + std::to_string(process) + file);
}

pid_t parent_of(pid_t process) { return static_cast<pid_t>(number_in_line(text_of(process, "/status"), "\nPPid:")); }

bool ignores_hang_up(pid_t process)
{
    constexpr std::string_view line = "\nSigIgn:";
    constexpr unsigned long long hang_up = 1ull << (SIGHUP - 1);
    const std::string status = text_of(process, "/status");
    const auto at = status.find(line);
    return at != std::string::npos && (std::strtoull(status.c_str() + at + line.size(), nullptr, 16) & hang_up) != 0;
}

// The shell tells each program by which path it was executed. Node takes hang-ups again.
bool was_executed_by_nohup(pid_t process)
{
    const std::string variables = '\0' + text_of(process, "/environ");
    const auto at = variables.find(std::string_view("\0_=", 3));
    return at != std::string::npos && std::string_view(variables.c_str() + at + 1).ends_with("/nohup");
}

bool is_put_away(pid_t process, const run_outputs& outputs)
{
    return !has_output(process, outputs) && (ignores_hang_up(process) || was_executed_by_nohup(process));
}

// Python's own, which clean up behind a program and end when it has: nobody need look for them.
bool ends_with_its_program(pid_t process)
{
    const std::string words = text_of(process, "/cmdline");
    return words.find("from multiprocessing.resource_tracker import main") != std::string::npos ||
           words.find("from multiprocessing.forkserver import main") != std::string::npos;
}

}  // namespace

run_outputs run_outputs::of(int out, int error) { return {pipe_of(out), pipe_of(error)}; }

session_list::session_list(unique_fd processes) : entries_(::fdopendir(processes.get()), ::closedir)
{
    if (!entries_) throw step_failed("see the processes of the cell");
    static_cast<void>(processes.release());
}

// A number may be another process's by the time it is looked at; its pidfd is not.
std::vector<session_list::member> session_list::living(pid_t session) const
{
    std::vector<member> members;
    ::rewinddir(entries_.get());
    while (const dirent* entry = ::readdir(entries_.get())) {
        const auto process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (process <= 1 || ::getsid(process) != session) continue;
        unique_fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
        if (pidfd && ::getsid(process) == session && !ended(pidfd, 0)) members.push_back({process, std::move(pidfd)});
    }
    return members;
}

void session_list::hang_up(pid_t session, const run_outputs& outputs) const
{
    for (const member& each : living(session)) {
        if (!has_output(each.process, outputs)) continue;
        send(each.pidfd, SIGHUP);
        send(each.pidfd, SIGCONT);
    }
}

left_processes session_list::count(pid_t session, const run_outputs& outputs) const
{
    left_processes left;
    for (const member& each : living(session))
        if (!ends_with_its_program(each.process)) ++(has_output(each.process, outputs) ? left.hung_up : left.others);
    return left;
}

// Its leader is the run itself.
std::vector<session_list::member> session_list::to_be_killed(pid_t session, const run_outputs& outputs) const
{
    std::vector<member> members = living(session);
    std::set<pid_t> spared;
    for (const member& each : members)
        if (each.process != session && is_put_away(each.process, outputs)) spared.insert(each.process);
    const auto joins = [&](const member& each) {
        return each.process != session && spared.contains(parent_of(each.process)) &&
               spared.insert(each.process).second;
    };
    while (!spared.empty() && std::ranges::any_of(members, joins)) {
    }
    std::erase_if(members, [&](const member& each) { return spared.contains(each.process); });
    return members;
}

// A process that forks between two attempts has a child that the next one finds.
bool session_list::kill(pid_t session, const run_outputs& outputs) const
{
    constexpr int most_attempts = 100, patience_ms = 100;
    for (int attempt = 0; attempt != most_attempts; ++attempt) {
        const std::vector<member> members = to_be_killed(session, outputs);
        if (members.empty()) return true;
        for (const member& each : members) send(each.pidfd, SIGKILL);
        for (const member& each : members) ended(each.pidfd, patience_ms);
    }
    return false;
}

}  // namespace cmcp::sandbox
