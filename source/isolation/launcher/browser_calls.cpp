#include "launcher/browser_calls.hpp"

#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace cmcp::sandbox {
namespace {

using rules = std::vector<syscall_rule>;

// clang-format off
// Calls of a run that Chromium does not make: memory that the kernel keeps while no process maps it, placing memory on
// nodes, and programs without a path.
constexpr std::string_view unneeded[] = {
    "shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
    "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr", "io_setup",
    "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents", "mbind", "set_mempolicy", "execveat",
};

// With any mode, because the file systems that a browser can write honour no set-uid programs.
constexpr std::string_view added[] = {
    "open", "openat", "creat", "chmod", "fchmod", "fchmodat", "fallocate", "memfd_create", "chroot",
};

// A program that gets EPERM gives up; one that gets ENOSYS tries another call.
constexpr std::string_view forbidden[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp", "add_key", "keyctl",
    "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "open_by_handle_at", "name_to_handle_at", "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen",
    "fsconfig", "fsmount", "fspick", "pivot_root", "setns", "swapon", "swapoff", "reboot", "kexec_load",
    "kexec_file_load", "init_module", "finit_module", "delete_module", "acct", "quotactl", "quotactl_fd", "syslog",
    "vhangup", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "sethostname", "setdomainname", "iopl",
    "ioperm", "modify_ldt", "fanotify_init", "fanotify_mark", "move_pages", "migrate_pages", "lookup_dcookie",
};
// clang-format on

constexpr std::uint64_t low_half = 0xffffffff;

bool is_unneeded(std::string_view name)
{
    return std::find(std::begin(unneeded), std::end(unneeded), name) != std::end(unneeded);
}

// Chromium's sandbox makes namespaces of users, processes and networks, and of no other kind.
void add_namespaces(rules& to)
{
    constexpr std::uint64_t others = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC;
    constexpr std::uint64_t of_time = 0x80;  // part of a signal's number to clone
    to.push_back({"clone", -1, 0, {{0, others, 0}}});
    to.push_back({"unshare", -1, 0, {{0, others | of_time, 0}}});
}

// Local sockets reach the browser's own processes alone: names and abstract names end at its root and its network.
void add_sockets(rules& to)
{
    to.push_back({"socket", -1, 0, {{0, low_half, AF_UNIX}}});
    to.push_back({"socketpair", -1, 0, {{0, low_half, AF_UNIX}}});
    to.push_back({"socket", -1, 0, {{0, low_half, AF_NETLINK}, {2, low_half, NETLINK_ROUTE}}});
}

}  // namespace

std::vector<syscall_rule> browser_calls()
{
    constexpr int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    rules all = common_conditional_syscalls(families);
    for (const std::string_view name : allowed_syscalls())
        if (!is_unneeded(name)) all.push_back({name, -1, 0, {}});
    for (const std::string_view name : added) all.push_back({name, -1, 0, {}});
    for (const std::string_view name : forbidden) all.push_back({name, -1, EPERM, {}});
    add_namespaces(all);
    add_sockets(all);
    return all;
}

}  // namespace cmcp::sandbox
