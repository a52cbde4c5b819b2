#include "browser_host/refused_calls.hpp"

#include <seccomp.h>

#include <cerrno>
#include <memory>
#include <system_error>
#include <type_traits>

namespace cmcp::browser_host {
namespace {

constexpr const char* refused[] = {
    "add_key",
    "keyctl",
    "request_key",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "open_by_handle_at",
    "name_to_handle_at",
    "mount",
    "umount2",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "pivot_root",
    "setns",
    "swapon",
    "swapoff",
    "reboot",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "acct",
    "quotactl",
    "syslog",
    "vhangup",
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "process_vm_readv",
    "process_vm_writev",
    "pidfd_getfd",
    "personality",
    "fanotify_init",
};

void check(int result)
{
    if (result < 0) throw std::system_error(-result, std::generic_category(), "filter the browser's system calls");
}

}  // namespace

void refuse_calls()
{
    const std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, decltype(&::seccomp_release)> filter(
        ::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release);
    if (!filter) check(-ENOMEM);
    check(::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
    for (const char* name : refused) {
        const int number = ::seccomp_syscall_resolve_name(name);
        if (number >= 0) check(::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0));
    }
    check(::seccomp_load(filter.get()));
}

}  // namespace cmcp::browser_host
