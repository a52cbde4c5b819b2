#include "jail/seccomp_filter.hpp"
#include "test/isolation/layers/bpf_interpreter.hpp"
#include "test/support/catch.hpp"

#include <linux/audit.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

using namespace cmcp;
using namespace cmcp::sandbox;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t native_kind = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t native_kind = AUDIT_ARCH_AARCH64;
#endif

using arguments = std::array<std::uint64_t, 6>;

std::uint32_t answer_of(const bpf_program& filter, std::int64_t number, const arguments& values = {})
{
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    call.arch = native_kind;
    for (std::size_t i = 0; i != values.size(); ++i) call.args[i] = values[i];
    return cmcp::test::run_bpf(filter.code, call);
}

const machine_filter& filter_of(const machine_calls& which)
{
    static std::map<machine_calls, machine_filter> all;
    const auto known = all.find(which);
    return known != all.end() ? known->second : all.emplace(which, compile_machine_filter(which)).first->second;
}

int error_in(std::uint32_t answer)
{
    return (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? static_cast<int>(answer & SECCOMP_RET_DATA) : -1;
}

}  // namespace

TEST_CASE("the filter of a machine refuses what reaches the kernel of all, with mounts or without")
{
    const char* const forbidden[] = {"bpf",
                                     "perf_event_open",
                                     "keyctl",
                                     "add_key",
                                     "request_key",
                                     "userfaultfd",
                                     "open_by_handle_at",
                                     "io_uring_setup",
                                     "kexec_load",
                                     "init_module",
                                     "finit_module",
                                     "delete_module",
                                     "swapon",
                                     "swapoff",
                                     "reboot",
                                     "settimeofday",
                                     "clock_settime",
                                     "clock_adjtime",
                                     "acct",
                                     "quotactl",
                                     "syslog",
                                     "iopl",
                                     "ioperm",
                                     "modify_ldt",
                                     "fanotify_init",
                                     "move_pages",
                                     "migrate_pages",
                                     "lookup_dcookie",
                                     "memfd_secret",
                                     "vmsplice",
                                     "ustat",
                                     "sysfs"};
    for (const bool nested : {false, true})
        for (const char* name : forbidden) {
            const int number = seccomp_syscall_resolve_name(name);
            if (number < 0) continue;  // not a call of this architecture
            INFO(name << (nested ? ", nested" : ""));
            CHECK(error_in(answer_of(filter_of({nested, false}).quiet, number)) == EPERM);
            CHECK(answer_of(filter_of({nested, false}).announcing, number) == SECCOMP_RET_USER_NOTIF);
        }
}

TEST_CASE("a machine mounts and makes namespaces only where it may nest")
{
    const char* const nesting[] = {"mount",    "umount2", "pivot_root", "unshare",    "setns",     "fsopen",
                                   "fsconfig", "fsmount", "fspick",     "move_mount", "open_tree", "mount_setattr"};
    for (const char* name : nesting) {
        const int number = seccomp_syscall_resolve_name(name);
        INFO(name);
        CHECK(error_in(answer_of(filter_of({false, false}).quiet, number)) == EPERM);
        CHECK(answer_of(filter_of({true, false}).quiet, number) == SECCOMP_RET_ALLOW);
    }
    for (const std::uint64_t kind :
         {CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
        CHECK(error_in(answer_of(filter_of({false, false}).quiet, SYS_clone, {kind})) == EPERM);
        CHECK(answer_of(filter_of({true, false}).quiet, SYS_clone, {kind}) == SECCOMP_RET_ALLOW);
    }
    for (const bool nested : {false, true}) {
        CHECK(error_in(answer_of(filter_of({nested, false}).quiet, 435)) == ENOSYS);  // clone3
        CHECK(answer_of(filter_of({nested, false}).quiet, SYS_clone, {17}) == SECCOMP_RET_ALLOW);
    }
}

TEST_CASE("a machine's sockets are those of the internet, UNIX and the interfaces")
{
    const bpf_program& filter = filter_of({true, false}).quiet;
    for (int family = 0; family != 64; ++family) {
        const bool known = family == AF_INET || family == AF_INET6 || family == AF_UNIX || family == AF_NETLINK;
        INFO(family);
        if (!known)
            CHECK(error_in(answer_of(filter, SYS_socket, {std::uint64_t(family), SOCK_STREAM})) == EAFNOSUPPORT);
        if (known) CHECK(error_in(answer_of(filter, SYS_socket, {std::uint64_t(family), SOCK_STREAM})) == -1);
    }
    for (std::uint64_t protocol = 1; protocol != 32; ++protocol)
        CHECK(error_in(answer_of(filter, SYS_socket, {AF_NETLINK, SOCK_RAW, protocol})) == EPROTONOSUPPORT);
    for (const std::uint64_t family : {AF_INET, AF_INET6})
        CHECK(error_in(answer_of(filter, SYS_socket, {family, SOCK_RAW, 1})) == EPERM);
    for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET})
        CHECK(answer_of(filter, SYS_socket, {AF_UNIX, type}) == SECCOMP_RET_ALLOW);
    CHECK(error_in(answer_of(filter, SYS_sendto, {0, 0, 0, MSG_OOB})) == EPERM);
}

TEST_CASE("a machine keeps the limits that no program may undo")
{
    for (const bool nested : {false, true}) {
        const bpf_program& filter = filter_of({nested, false}).quiet;
        CHECK(answer_of(filter, SYS_setrlimit, {RLIMIT_CORE}) == SECCOMP_RET_ERRNO);  // succeeds, and does nothing
        CHECK(error_in(answer_of(filter, SYS_prlimit64, {1, RLIMIT_NOFILE, 1})) == EPERM);
        CHECK(error_in(answer_of(filter, SYS_fallocate)) == EOPNOTSUPP);
        CHECK(error_in(answer_of(filter, SYS_io_setup)) == ENOSYS);
        for (const std::uint64_t request : {TIOCSTI, 0x541c, TIOCCONS, TIOCSETD})
            CHECK(error_in(answer_of(filter, SYS_ioctl, {0, request})) == EPERM);
    }
}

TEST_CASE("where a machine has one id, changes of owner succeed without effect")
{
    for (const std::int64_t number : {SYS_fchown, SYS_fchownat, SYS_setgroups}) {
        CHECK(error_in(answer_of(filter_of({false, true}).quiet, number)) == 0);
        CHECK(error_in(answer_of(filter_of({false, true}).announcing, number)) == 0);
        CHECK(answer_of(filter_of({false, false}).quiet, number) == SECCOMP_RET_ALLOW);
    }
    CHECK(answer_of(filter_of({false, true}).quiet, SYS_setresuid) == SECCOMP_RET_ALLOW);
}

TEST_CASE("what root of a machine does to its own files and processes is allowed")
{
    const bpf_program& filter = filter_of({false, false}).quiet;
    for (const std::int64_t number : {SYS_ptrace, SYS_process_vm_readv, SYS_chroot, SYS_fchmod, SYS_mknodat, SYS_openat,
                                      SYS_openat2, SYS_sethostname, SYS_connect, SYS_bind}) {
        INFO(number);
        CHECK(answer_of(filter, number, {0, 04755, 0, 04755}) == SECCOMP_RET_ALLOW);
    }
}
