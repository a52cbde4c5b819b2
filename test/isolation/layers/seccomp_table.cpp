#include "jail/seccomp_filter.hpp"
#include "test/isolation/layers/bpf_interpreter.hpp"
#include "test/support/catch.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

using namespace cmcp;
using namespace cmcp::sandbox;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t native = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t native = AUDIT_ARCH_AARCH64;
#endif

using arguments = std::array<std::uint64_t, 6>;

const bpf_program& filter_of_table()
{
    static const bpf_program program = compile_filter();
    return program;
}

std::uint32_t answer(std::int64_t number, const arguments& values = {}, std::uint32_t arch = native)
{
    seccomp_data call{};
    call.nr = static_cast<int>(number);
    call.arch = arch;
    for (std::size_t i = 0; i != values.size(); ++i) call.args[i] = values[i];
    return cmcp::test::run_bpf(filter_of_table().code, call);
}

bool allowed(std::int64_t number, const arguments& values = {}) { return answer(number, values) == SECCOMP_RET_ALLOW; }

// Returns 0 when the filter does not answer with an error.
int error_of(std::int64_t number, const arguments& values = {})
{
    const std::uint32_t result = answer(number, values);
    return (result & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO ? static_cast<int>(result & SECCOMP_RET_DATA) : 0;
}

constexpr std::uint64_t high_bits = 0xdeadbeef00000000;

}  // namespace

TEST_CASE("the filter refuses every call that leads out of a sandbox")
{
    // clang-format off
    const char* const forbidden[] = {
        "unshare", "setns", "mount", "umount2", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick",
        "mount_setattr", "pivot_root", "chroot", "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
        "pidfd_getfd", "kcmp", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "userfaultfd",
        "open_by_handle_at", "name_to_handle_at", "io_uring_setup", "io_uring_enter", "io_uring_register",
        "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon", "swapoff",
        "reboot", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "acct", "quotactl", "quotactl_fd",
        "syslog", "sethostname", "setdomainname", "iopl", "ioperm", "modify_ldt", "fanotify_init", "fanotify_mark",
        "move_pages", "migrate_pages", "lookup_dcookie", "vhangup", "nfsservctl", "_sysctl", "uselib", "ustat",
        "sysfs", "memfd_secret", "vmsplice",
    };
    // clang-format on
    for (const char* name : forbidden) {
        const int number = seccomp_syscall_resolve_name(name);
        if (number < 0) continue;  // not a call of this architecture
        INFO(name);
        CHECK(error_of(number) == EPERM);
        CHECK(error_of(number, {~0ull, ~0ull, ~0ull, ~0ull, ~0ull, ~0ull}) == EPERM);
    }
}

TEST_CASE("queues of asynchronous I/O are as on a kernel without them, so that programs read by threads")
{
    for (const std::int64_t call :
         {SYS_io_setup, SYS_io_destroy, SYS_io_submit, SYS_io_cancel, SYS_io_getevents, SYS_io_pgetevents}) {
        INFO(call);
        CHECK(error_of(call) == ENOSYS);
        CHECK(error_of(call, {1, ~0ull}) == ENOSYS);
    }
}

TEST_CASE("the filter lets through what shells, interpreters and compilers need")
{
    // clang-format off
    const char* const needed[] = {
        "read", "write", "openat", "close", "fstat", "newfstatat", "statx", "mmap", "mprotect", "munmap", "brk",
        "futex", "rt_sigaction", "rt_sigprocmask", "execve", "exit_group", "wait4", "waitid", "pipe2", "dup3",
        "fcntl", "getdents64", "getcwd", "chdir", "unlinkat", "renameat2", "mkdirat", "epoll_create1", "epoll_ctl",
        "epoll_pwait", "eventfd2", "timerfd_create", "getrandom", "memfd_create", "sched_getaffinity", "sched_yield",
        "prlimit64", "set_robust_list", "rseq", "prctl", "clock_gettime", "clock_nanosleep", "uname", "sysinfo",
        "getuid", "setpgid", "setsid", "kill", "tgkill", "pidfd_open", "bind", "connect", "listen", "accept4",
        "sendmsg", "recvmsg", "shmget", "semget", "copy_file_range", "splice", "inotify_add_watch", "ioctl", "flock",
        "membarrier", "get_mempolicy",
    };
    // clang-format on
    for (const char* name : needed) {
        INFO(name);
        CHECK(allowed(seccomp_syscall_resolve_name(name)));
    }
}

TEST_CASE("the filter lets clone make threads and processes but no namespaces")
{
    CHECK(allowed(SYS_clone, {SIGCHLD}));
    CHECK(allowed(SYS_clone,
                  {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS}));
    for (std::uint64_t flag :
         {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
        INFO(flag);
        CHECK(error_of(SYS_clone, {flag | SIGCHLD}) == EPERM);
        CHECK(error_of(SYS_clone, {high_bits | flag | SIGCHLD}) == EPERM);
    }
    CHECK(error_of(SYS_clone3) == ENOSYS);
}

TEST_CASE("the filter lets sockets be made only for the internet protocols and between processes")
{
    for (std::uint64_t family = 0; family != 64; ++family)
        for (std::uint64_t type = 0; type != 16; ++type)
            for (std::uint64_t protocol = 0; protocol != 300; ++protocol) {
                const bool internet = family == AF_INET || family == AF_INET6;
                const bool stream = type == SOCK_STREAM && (protocol == 0 || protocol == 6);
                const bool datagram = type == SOCK_DGRAM && (protocol == 0 || protocol == 17);
                const bool expected = internet && (stream || datagram);
                if (allowed(SYS_socket, {family, type, protocol}) != expected)
                    FAIL(family << " " << type << " " << protocol);
                if (!internet && error_of(SYS_socket, {family, type, protocol}) != EAFNOSUPPORT)
                    FAIL("family " << family);
            }
    CHECK(allowed(SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0}));
    CHECK(error_of(SYS_socket, {high_bits | AF_VSOCK, SOCK_STREAM, 0}) == EAFNOSUPPORT);
    CHECK(error_of(SYS_socket, {AF_INET, high_bits | SOCK_RAW, 0}) == EPERM);
    CHECK(allowed(SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}));
    CHECK(allowed(SYS_socketpair, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0}));
    CHECK(error_of(SYS_socketpair, {AF_UNIX, SOCK_DGRAM, 0}) == EPERM);
    CHECK(error_of(SYS_socketpair, {AF_UNIX, SOCK_RAW, 0}) == EPERM);
    CHECK(error_of(SYS_socketpair, {AF_VSOCK, SOCK_STREAM, 0}) == EPERM);
    CHECK(allowed(SYS_setsockopt, {0, SOL_SOCKET, SO_REUSEADDR}));
    CHECK(allowed(SYS_setsockopt, {0, IPPROTO_TCP, TCP_NODELAY}));
    CHECK(allowed(SYS_setsockopt, {0, IPPROTO_IPV6, IPV6_V6ONLY}));
    CHECK(error_of(SYS_setsockopt, {0, SOL_SOCKET, SO_ATTACH_FILTER}) == EPERM);
    CHECK(error_of(SYS_setsockopt, {0, SOL_SOCKET, SO_ZEROCOPY}) == EPERM);
    CHECK(error_of(SYS_setsockopt, {0, IPPROTO_TCP, TCP_ULP}) == EPERM);
    CHECK(error_of(SYS_setsockopt, {0, IPPROTO_UDP, UDP_ENCAP}) == EPERM);
    CHECK(error_of(SYS_setsockopt, {0, IPPROTO_IP, IP_ADD_MEMBERSHIP}) == EPERM);
}

TEST_CASE("limits are set but for that of core files, which a program believes to have set")
{
    constexpr std::uint64_t some_address = 0x7ffd'7000'1000;
    for (const std::uint64_t limit : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_NPROC}) {
        CHECK(allowed(SYS_setrlimit, {limit, some_address}));
        CHECK(allowed(SYS_prlimit64, {0, limit, some_address}));
        CHECK(error_of(SYS_prlimit64, {1, limit, some_address}) == EPERM);
    }
    const std::uint32_t does_nothing = SECCOMP_RET_ERRNO;
    CHECK(answer(SYS_setrlimit, {RLIMIT_CORE, some_address}) == does_nothing);
    CHECK(answer(SYS_prlimit64, {0, RLIMIT_CORE, some_address}) == does_nothing);
    CHECK(answer(SYS_prlimit64, {high_bits, high_bits | RLIMIT_CORE, some_address}) == does_nothing);
    CHECK(error_of(SYS_prlimit64, {1, RLIMIT_CORE, some_address}) == EPERM);
    CHECK(allowed(SYS_prlimit64, {0, RLIMIT_CORE, 0, some_address}));
    const auto announcing = compile_announcing_filter();
    seccomp_data call{};
    call.nr = SYS_prlimit64;
    call.arch = native;
    call.args[1] = RLIMIT_CORE;
    call.args[2] = some_address;
    CHECK(cmcp::test::run_bpf(announcing.code, call) == does_nothing);
}

TEST_CASE("data is sent and received, but none out of band")
{
    for (const auto& [number, index] :
         {std::pair{SYS_sendto, 3}, std::pair{SYS_recvfrom, 3}, std::pair{SYS_sendmsg, 2}, std::pair{SYS_recvmsg, 2},
          std::pair{SYS_sendmmsg, 3}, std::pair{SYS_recvmmsg, 3}}) {
        arguments values{};
        values[static_cast<std::size_t>(index)] = MSG_NOSIGNAL | MSG_DONTWAIT;
        CHECK(allowed(number, values));
        values[static_cast<std::size_t>(index)] |= MSG_OOB;
        CHECK(error_of(number, values) == EPERM);
    }
}

TEST_CASE("the filter refuses terminal injection whatever the upper half of the request holds")
{
    for (std::uint64_t request : {TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD}) {
        CHECK(error_of(SYS_ioctl, {0, request, 0}) == EPERM);
        CHECK(error_of(SYS_ioctl, {0, high_bits | request, 0}) == EPERM);
    }
    CHECK(allowed(SYS_ioctl, {0, TIOCGWINSZ, 0}));
    CHECK(allowed(SYS_ioctl, {0, 0, TIOCSTI}));
}

TEST_CASE("the filter lets no device and no set-id file come into being")
{
    CHECK(allowed(SYS_mknodat, {0, 0, S_IFIFO | 0644}));
    CHECK(error_of(SYS_mknodat, {0, 0, S_IFCHR | 0644}) == EPERM);
    CHECK(error_of(SYS_mknodat, {0, 0, S_IFBLK | 0644}) == EPERM);
    CHECK(error_of(SYS_mknodat, {0, 0, S_IFREG | S_ISUID}) == EPERM);
    CHECK(allowed(SYS_fchmodat, {0, 0, 01755}));
    CHECK(error_of(SYS_fchmodat, {0, 0, 04755}) == EPERM);
    CHECK(error_of(SYS_fchmod, {0, 02755}) == EPERM);
    CHECK(error_of(452, {0, 0, 04755}) == EPERM);
    CHECK(allowed(452, {0, 0, 0755}));
    CHECK(allowed(SYS_openat, {0, 0, O_RDONLY, 0xffff}));
    CHECK(allowed(SYS_openat, {0, 0, O_CREAT | O_WRONLY, 0644}));
    CHECK(allowed(SYS_openat, {0, 0, O_DIRECTORY, 0xffff}));
    CHECK(error_of(SYS_openat, {0, 0, O_CREAT | O_WRONLY, 04755}) == EPERM);
    CHECK(error_of(SYS_openat, {0, 0, O_TMPFILE | O_WRONLY, 04755}) == EPERM);
    CHECK(error_of(SYS_openat2) == ENOSYS);
}

TEST_CASE("the filter answers calls that are newer than its list as a kernel without them")
{
    for (int number = 463; number != 700; ++number) CHECK(error_of(number) == ENOSYS);
    CHECK(error_of(0x3fffffff) == ENOSYS);
    CHECK(error_of(457) == EPERM);  // statmount looks at mounts
}

TEST_CASE("the filter kills calls of a foreign architecture")
{
    const std::uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_PPC64LE, AUDIT_ARCH_S390X};
    for (std::uint32_t arch : foreign) {
        for (int number = 0; number != 500; ++number) CHECK(answer(number, {}, arch) == SECCOMP_RET_KILL_PROCESS);
    }
    const std::uint32_t x32 = answer(0x40000000 | 1);
    CHECK(x32 != SECCOMP_RET_ALLOW);
}

TEST_CASE("the filter lets personality be asked and address randomisation be switched off, nothing else")
{
    CHECK(allowed(SYS_personality, {0xffffffff}));
    CHECK(allowed(SYS_personality, {0x40000}));
    CHECK(error_of(SYS_personality, {0x400000}) == EPERM);
    CHECK(error_of(SYS_personality, {8}) == EPERM);
}

TEST_CASE("a filter without memory files refuses to make them")
{
    seccomp_data call{};
    call.nr = SYS_memfd_create;
    call.arch = native;
    CHECK(cmcp::test::run_bpf(compile_filter(false).code, call) == (SECCOMP_RET_ERRNO | EPERM));
}

TEST_CASE("system calls are named, and unknown ones shown by number")
{
    CHECK(syscall_name(SYS_unshare) == "unshare");
    CHECK(syscall_name(123456) == "123456");
}
