#include "facilities/namespaces.hpp"

#include "facilities/setup_step.hpp"
#include "posix/child_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace cmcp::sandbox {
namespace {

constexpr std::uint64_t new_time = 0x80;  // CLONE_NEWTIME

void write_map(const std::string& path, const std::string& text)
{
    const unique_fd file(check(::open(path.c_str(), O_WRONLY | O_CLOEXEC), "id map"));
    check(::write(file.get(), text.data(), text.size()), "id map");
}

std::string mapping(unsigned inside, unsigned outside)
{
    return std::to_string(inside) + ' ' + std::to_string(outside) + " 1\n";
}

std::string mapping(const std::vector<id_range>& ranges)
{
    std::string lines;
    for (const id_range& each : ranges)
        lines += std::to_string(each.from) + ' ' + std::to_string(each.to) + ' ' + std::to_string(each.count) + '\n';
    return lines;
}

void end_child(const cloned& child)
{
    kill_process(child.pidfd.get());
    collect_process(child.pidfd.get());
}

}  // namespace

std::uint64_t all_namespaces(bool with_time)
{
    return CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
           (with_time ? new_time : 0);
}

cloned clone_into_namespaces(std::uint64_t kinds, int cgroup)
{
    int pidfd = -1;
    clone_args arguments{};
    arguments.flags = kinds | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
    arguments.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
    arguments.exit_signal = (kinds & CLONE_PARENT) != 0 ? 0 : SIGCHLD;  // clone(2): inherited then
    if (cgroup >= 0) {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = static_cast<std::uint64_t>(cgroup);
    }
    const long pid = check(::syscall(SYS_clone3, &arguments, sizeof arguments), "clone");
    return {static_cast<pid_t>(pid), unique_fd(pid == 0 ? -1 : pidfd)};
}

void write_id_maps(const std::string& process, id_pair inside, id_pair outside, bool deny_setgroups)
{
    const std::string folder = "/proc/" + process;
    if (deny_setgroups) write_map(folder + "/setgroups", "deny");
    write_map(folder + "/uid_map", mapping(inside.user, outside.user));
    write_map(folder + "/gid_map", mapping(inside.group, outside.group));
}

void write_id_ranges(const std::string& process, const std::vector<id_range>& ranges)
{
    for (const char* map : {"/uid_map", "/gid_map"}) write_map("/proc/" + process + map, mapping(ranges));
}

void die_with_parent() { check(::prctl(PR_SET_PDEATHSIG, SIGKILL), "die with the launcher"); }

void map_own_ids(id_pair outside, id_pair inside)
{
    check(::prctl(PR_SET_DUMPABLE, 1), "id map");  // a process that is not dumpable does not own its files in /proc
    write_id_maps("self", inside, outside, true);
    check(::prctl(PR_SET_DUMPABLE, 0), "id map");
}

// The caller was not root of its user namespace, so this change of user keeps the capabilities that the set-up still
// needs.
void become_inside_user(bool leaves_groups, id_pair inside)
{
    if (leaves_groups) check(::setgroups(0, nullptr), "leave groups");
    check(::setresgid(inside.group, inside.group, inside.group), "change group");
    check(::setresuid(inside.user, inside.user, inside.user), "change user");
    die_with_parent();  // a change of user clears it
}

namespace {

template <class WriteMaps>
unique_fd make_mapped_namespace(WriteMaps write_maps)
{
    const pid_t maker = ::getpid();
    cloned holder = clone_into_namespaces(CLONE_NEWUSER, -1);
    if (holder.pid == 0)
        live_and_end([&] {
            die_with_parent();
            while (::getppid() == maker) ::pause();  // it may have died before
        });
    try {
        const std::string process = std::to_string(holder.pid);
        write_maps(process);
        const std::string path = "/proc/" + process + "/ns/user";
        unique_fd result(check(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "open the mapping namespace"));
        end_child(holder);
        return result;
    } catch (...) {
        end_child(holder);
        throw;
    }
}

}  // namespace

unique_fd make_mapping_namespace(id_pair from, id_pair to)
{
    return make_mapped_namespace([&](const std::string& process) { write_id_maps(process, from, to, false); });
}

unique_fd make_mapping_namespace(const std::vector<id_range>& ranges)
{
    return make_mapped_namespace([&](const std::string& process) { write_id_ranges(process, ranges); });
}

void bring_loopback_up()
{
    const unique_fd any(check(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "open loopback"));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    check(::ioctl(any.get(), SIOCSIFFLAGS, &request), "bring loopback up");
}

void forget_keyrings()
{
    const long joined = ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    if (joined < 0 && errno != ENOSYS && errno != EPERM) throw step_failed("new session keyring");
}

}  // namespace cmcp::sandbox
