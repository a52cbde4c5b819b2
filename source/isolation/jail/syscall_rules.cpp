#include "jail/syscall_rules.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cmcp::sandbox {
namespace {

// Calls of C libraries, shells, Git, CPython, numpy, Node and compilers. Left out on purpose: whatever makes or enters
// namespaces and mounts, pins memory that is counted nowhere (vmsplice), takes what the whole machine has a few
// thousands of (asynchronous I/O), looks into other processes, loads code into the kernel, sets clocks, keys, quota or
// swap, opens files by handle, and the large, often broken interfaces (io_uring, bpf, perf, userfaultfd).
// clang-format off
constexpr std::string_view allowed[] = {
    // files
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "lseek",
    "close", "close_range", "dup", "dup2", "dup3", "fcntl", "flock", "stat", "fstat", "lstat", "newfstatat", "statx",
    "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getdents", "getdents64", "getcwd", "chdir",
    "fchdir", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat",
    "mkdir", "mkdirat", "rmdir", "truncate", "ftruncate", "fadvise64", "readahead", "sync", "syncfs",
    "fsync", "fdatasync", "sync_file_range", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat",
    "futimesat", "umask", "statfs", "fstatfs", "sendfile", "splice", "tee", "copy_file_range", "ioctl",
    "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "setxattr", "lsetxattr",
    "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "inotify_init", "inotify_init1", "inotify_add_watch",
    "inotify_rm_watch",
    // waiting
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "eventfd", "eventfd2", "signalfd", "signalfd4", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "pipe", "pipe2",
    // memory
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "mlock", "mlock2", "mlockall",
    "munlock", "munlockall", "pkey_alloc", "pkey_free", "pkey_mprotect", "membarrier", "get_mempolicy",
    "set_mempolicy", "mbind",
    // processes and threads
    "fork", "vfork", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "kill", "tkill", "tgkill",
    "getpid", "getppid", "gettid", "getpgid", "getpgrp", "getsid", "setpgid", "setsid", "pidfd_open",
    "pidfd_send_signal", "set_tid_address", "set_robust_list", "get_robust_list", "futex", "futex_waitv", "rseq",
    "arch_prctl", "prctl", "restart_syscall", "sched_yield", "sched_getaffinity", "sched_setaffinity",
    "sched_getparam", "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_getattr", "sched_setattr",
    "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "getpriority", "setpriority",
    "ioprio_get", "ioprio_set", "getrlimit", "getrusage", "times", "sysinfo", "uname",
    "getcpu", "getrandom",
    // signals
    "rt_sigaction", "rt_sigprocmask", "rt_sigpending", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
    "rt_sigqueueinfo", "rt_tgsigqueueinfo", "sigaltstack", "pause", "alarm", "getitimer", "setitimer",
    // identity: without capabilities these can only give up rights
    "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "setuid", "setgid", "setreuid",
    "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid", "setgroups", "capget", "capset", "seccomp",
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self",
    // time
    "time", "gettimeofday", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "timer_create",
    "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete",
    // sockets; which ones can be made is decided below
    "connect", "bind", "listen", "accept", "accept4", "getsockname", "getpeername", "getsockopt",
    "shutdown",
    // System V and POSIX messages: the run has an IPC namespace of its own
    "shmget", "shmat", "shmdt", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv",
    "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive", "mq_notify", "mq_getsetattr",
};
// clang-format on

// Beside those, for root of a machine: what it does to files, to its own processes and to its name. Whatever the kernel
// asks a capability of the machine's own for stays out, because it is refused or must be.
constexpr std::string_view allowed_to_root[] = {"chmod",
                                                "fchmod",
                                                "fchmodat",
                                                "creat",
                                                "open",
                                                "openat",
                                                "openat2",
                                                "mknod",
                                                "mknodat",
                                                "chroot",
                                                "ptrace",
                                                "process_vm_readv",
                                                "process_vm_writev",
                                                "kcmp",
                                                "pidfd_getfd",
                                                "process_madvise",
                                                "sethostname",
                                                "setdomainname",
                                                "vhangup"};

// And where it may nest: mounts and namespaces below its own.
constexpr std::string_view allowed_to_nest[] = {"mount",      "umount2",   "pivot_root",       "unshare", "setns",
                                                "clone",      "fsopen",    "fsconfig",         "fsmount", "fspick",
                                                "move_mount", "open_tree", "name_to_handle_at"};

constexpr std::string_view changes_of_owner[] = {"chown", "fchown", "lchown", "fchownat", "setgroups"};

constexpr std::uint32_t tiocsti = 0x5412, tioclinux = 0x541c, tioccons = 0x541d, tiocsetd = 0x5423;
constexpr std::array<std::uint32_t, 4> terminal_requests{tiocsti, tioclinux, tioccons, tiocsetd};
static_assert(tiocsti == TIOCSTI && tioclinux == TIOCLINUX && tioccons == TIOCCONS && tiocsetd == TIOCSETD);

using rules = std::vector<syscall_rule>;
constexpr std::uint64_t low32 = 0xffffffff;
constexpr std::uint64_t type_mask = 0xf;  // of a socket; the rest are SOCK_CLOEXEC and SOCK_NONBLOCK

// Not time namespaces: their flag is a signal number to clone, which therefore cannot make one.
constexpr std::uint64_t namespace_flags =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

void add_processes(rules& to)
{
    to.push_back({"clone", -1, 0, {{0, namespace_flags, 0}}});
    // Its flags are behind a pointer, where a filter cannot look; C libraries then fall back to clone.
    to.push_back({"clone3", 435, ENOSYS, {}});
}

void add_harmless(rules& to)
{
    for (std::uint64_t harmless : {std::uint64_t{0}, std::uint64_t{0x40000} /* ADDR_NO_RANDOMIZE */, low32 /* query */})
        to.push_back({"personality", -1, 0, {{0, low32, harmless}}});
    to.push_back({"futex_wake", 454, 0, {}});
    to.push_back({"futex_wait", 455, 0, {}});
    to.push_back({"futex_requeue", 456, 0, {}});
    to.push_back({"map_shadow_stack", 453, 0, {}});
    to.push_back({"mseal", 462, 0, {}});
}

constexpr std::uint64_t set_id = S_ISUID | S_ISGID;

void add_refused_files(rules& to)
{
    to.push_back({"cachestat", 451, ENOSYS, {}});  // tells what others have read
    // The machine has one number of slots in queues of asynchronous I/O (fs.aio-max-nr), which no group and no limit
    // of a process divides. Without them programs read and write by threads.
    for (std::string_view call : {"io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents"})
        to.push_back({call, -1, ENOSYS, {}});
    // Room taken without writing would escape the count of a run's writing; C libraries then write zeros.
    to.push_back({"fallocate", -1, EOPNOTSUPP, {}});
}

// The workspace is visible outside, where its mount may honour them: no set-uid and set-gid files may come into being.
void add_file_modes(rules& to)
{
    for (syscall_rule& each : calls_without_set_id()) to.push_back(std::move(each));
    to.push_back({"openat2", 437, ENOSYS, {}});  // its mode is behind a pointer; users of it fall back to openat
    for (std::uint64_t kind : {0, S_IFREG, S_IFIFO, S_IFSOCK}) {
        to.push_back({"mknod", -1, 0, {{1, S_IFMT | set_id, kind}}});
        to.push_back({"mknodat", -1, 0, {{2, S_IFMT | set_id, kind}}});
    }
    add_refused_files(to);
}

// The limit on core files stays as it is: with 0 the kernel would hand a dump to the host's handler (core(5)). Programs
// that keep secrets, as gpg, end where they cannot set it to 0, and are told that they have. The limits of another
// process, which may be the first one of the sandbox, can only be asked for.
void add_limits(rules& to)
{
    constexpr std::uint64_t limits_end = RLIM_NLIMITS;
    for (std::uint64_t limit = 0; limit != limits_end; ++limit) {
        if (limit == RLIMIT_CORE) continue;
        to.push_back({"setrlimit", -1, 0, {{0, low32, limit}}});
        to.push_back({"prlimit64", -1, 0, {{0, low32, 0}, {1, low32, limit}}});
    }
    to.push_back({"setrlimit", -1, without_effect, {{0, low32, RLIMIT_CORE}}});
    to.push_back({"prlimit64", -1, without_effect, {{0, low32, 0}, {1, low32, RLIMIT_CORE}, {2, ~0ull, 0, true}}});
    to.push_back({"prlimit64", -1, 0, {{2, ~0ull, 0}}});
}

void add_internet_sockets(rules& to)
{
    constexpr std::uint64_t tcp = 6, udp = 17;
    for (std::uint64_t family : {AF_INET, AF_INET6}) {
        for (std::uint64_t protocol : {std::uint64_t{0}, tcp})
            to.push_back({"socket", -1, 0, {{0, low32, family}, {1, type_mask, SOCK_STREAM}, {2, low32, protocol}}});
        for (std::uint64_t protocol : {std::uint64_t{0}, udp})
            to.push_back({"socket", -1, 0, {{0, low32, family}, {1, type_mask, SOCK_DGRAM}, {2, low32, protocol}}});
    }
}

// Between the run's own processes only. A socket that is made by name, or one of datagrams, could reach a program
// outside that listens in the workspace, which the namespaces do not prevent and Landlock only from its version 9 on.
// So the kernel makes none: local_call.hpp has those that the cell's first process makes.
void add_local_sockets(rules& to)
{
    for (std::uint64_t type : {SOCK_STREAM, SOCK_SEQPACKET})
        to.push_back({"socketpair", -1, 0, {{0, low32, AF_UNIX}, {1, type_mask, type}}});
}

// Out-of-band data of local sockets has been a way into the kernel (CVE-2025-38236), and nothing here needs such data.
void add_transfers(rules& to)
{
    constexpr std::pair<std::string_view, unsigned> arguments_with_flags[] = {
        {"sendto", 3}, {"recvfrom", 3}, {"sendmsg", 2}, {"recvmsg", 2}, {"sendmmsg", 3}, {"recvmmsg", 3}};
    for (const auto& [name, index] : arguments_with_flags) to.push_back({name, -1, 0, {{index, MSG_OOB, 0}}});
}

// The options that programs set on sockets of these kinds. Left out are those that put code or other protocols into the
// kernel's way of a packet (SO_ATTACH_FILTER, TCP_ULP, UDP_ENCAP, TCP_REPAIR), pin memory (SO_ZEROCOPY, PACKET rings),
// or join groups of addresses.
void add_socket_options(rules& to)
{
    constexpr std::uint8_t of_sockets[] = {SO_REUSEADDR,
                                           SO_DONTROUTE,
                                           SO_BROADCAST,
                                           SO_SNDBUF,
                                           SO_RCVBUF,
                                           SO_KEEPALIVE,
                                           SO_OOBINLINE,
                                           SO_PRIORITY,
                                           SO_LINGER,
                                           SO_REUSEPORT,
                                           SO_PASSCRED,
                                           SO_RCVLOWAT,
                                           SO_RCVTIMEO,
                                           SO_SNDTIMEO,
                                           SO_TIMESTAMP,
                                           SO_TIMESTAMPNS,
                                           63 /* SO_TIMESTAMP_NEW */,
                                           64 /* SO_TIMESTAMPNS_NEW */,
                                           66 /* SO_RCVTIMEO_NEW */,
                                           67 /* SO_SNDTIMEO_NEW */};
    constexpr std::uint8_t of_ipv4[] = {IP_TOS,          IP_TTL,           IP_PKTINFO,        IP_MTU_DISCOVER,
                                        IP_RECVERR,      IP_RECVTTL,       IP_RECVTOS,        IP_BIND_ADDRESS_NO_PORT,
                                        IP_MULTICAST_IF, IP_MULTICAST_TTL, IP_MULTICAST_LOOP, IP_MULTICAST_ALL};
    constexpr std::uint8_t of_ipv6[] = {IPV6_UNICAST_HOPS, IPV6_MULTICAST_IF, IPV6_MULTICAST_HOPS, IPV6_MULTICAST_LOOP,
                                        IPV6_MTU_DISCOVER, IPV6_RECVERR,      IPV6_V6ONLY,         IPV6_MULTICAST_ALL,
                                        IPV6_RECVPKTINFO,  IPV6_PKTINFO,      IPV6_RECVHOPLIMIT,   IPV6_HOPLIMIT,
                                        IPV6_RECVTCLASS,   IPV6_TCLASS};
    constexpr std::uint8_t of_tcp[] = {
        TCP_NODELAY,      TCP_MAXSEG,   TCP_CORK,          TCP_KEEPIDLE,         TCP_KEEPINTVL, TCP_KEEPCNT,
        TCP_SYNCNT,       TCP_LINGER2,  TCP_DEFER_ACCEPT,  TCP_WINDOW_CLAMP,     TCP_QUICKACK,  TCP_CONGESTION,
        TCP_USER_TIMEOUT, TCP_FASTOPEN, TCP_NOTSENT_LOWAT, TCP_FASTOPEN_CONNECT, TCP_INQ};
    constexpr std::uint8_t of_udp[] = {UDP_CORK, UDP_SEGMENT, UDP_GRO};
    const auto allow = [&to](std::uint64_t level, std::span<const std::uint8_t> options) {
        for (const std::uint64_t option : options)
            to.push_back({"setsockopt", -1, 0, {{1, low32, level}, {2, low32, option}}});
    };
    allow(SOL_SOCKET, of_sockets);
    allow(IPPROTO_IP, of_ipv4);
    allow(IPPROTO_IPV6, of_ipv6);
    allow(IPPROTO_TCP, of_tcp);
    allow(IPPROTO_UDP, of_udp);
    constexpr std::uint64_t netlink = 270;  // SOL_NETLINK
    constexpr std::uint8_t of_netlink[] = {10 /* NETLINK_CAP_ACK */, 11 /* NETLINK_EXT_ACK */,
                                           12 /* NETLINK_GET_STRICT_CHK */};
    allow(netlink, of_netlink);
}

// Programs expect EAFNOSUPPORT of a kernel without that family, and then try another way.
void refuse_families_but(std::span<const int> known, rules& to)
{
    constexpr int families_end = 64;  // beyond the last family there is (46)
    for (int family = 0; family != families_end; ++family)
        if (std::find(known.begin(), known.end(), family) == known.end())
            to.push_back({"socket", -1, EAFNOSUPPORT, {{0, low32, static_cast<std::uint64_t>(family)}}});
}

// Programs ask the kernel's audit, and go on where there is none.
void add_local_sockets_of_root(rules& to)
{
    to.push_back({"socketpair", -1, 0, {{0, low32, AF_UNIX}}});
    to.push_back({"socket", -1, 0, {{0, low32, AF_UNIX}}});
    constexpr std::uint64_t protocols_end = 32, of_routes = 0;
    for (std::uint64_t protocol = 0; protocol != protocols_end; ++protocol)
        to.push_back({"socket",
                      -1,
                      protocol == of_routes ? 0 : EPROTONOSUPPORT,
                      {{0, low32, AF_NETLINK}, {2, low32, protocol}}});
}

}  // namespace

std::vector<syscall_rule> machine_syscalls(const machine_calls& which)
{
    constexpr int families[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};
    rules all;
    for (const auto name : allowed_syscalls()) {
        const bool fakes = which.one_id && std::ranges::find(changes_of_owner, name) != std::end(changes_of_owner);
        // With one id files have no other owner, and package managers go on as if they had.
        if (!fakes) all.push_back({name, -1, 0, {}});
    }
    if (which.one_id)
        for (const auto name : changes_of_owner) all.push_back({name, -1, without_effect, {}});
    for (const auto name : allowed_to_root) all.push_back({name, -1, 0, {}});
    all.push_back({"fchmodat2", 452, 0, {}});
    all.push_back({"memfd_create", -1, 0, {}});
    add_harmless(all);
    add_internet_sockets(all);
    add_local_sockets_of_root(all);
    add_transfers(all);
    add_socket_options(all);
    refuse_families_but(families, all);
    add_limits(all);
    all.push_back({"clone3", 435, ENOSYS, {}});
    add_refused_files(all);
    if (!which.nested) {
        all.push_back({"clone", -1, 0, {{0, namespace_flags, 0}}});
        return all;
    }
    for (const auto name : allowed_to_nest) all.push_back({name, -1, 0, {}});
    all.push_back({"mount_setattr", 442, 0, {}});
    return all;
}

std::span<const std::string_view> allowed_syscalls() { return allowed; }

std::span<const std::uint32_t> refused_ioctls() { return terminal_requests; }

std::vector<syscall_rule> conditional_syscalls()
{
    constexpr int families[] = {AF_INET, AF_INET6};
    rules all = common_conditional_syscalls(families);
    add_processes(all);
    add_file_modes(all);
    add_local_sockets(all);
    return all;
}

std::vector<syscall_rule> calls_without_set_id()
{
    constexpr std::uint64_t creates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);
    return {{"chmod", -1, 0, {{1, set_id, 0}}},    {"fchmod", -1, 0, {{1, set_id, 0}}},
            {"fchmodat", -1, 0, {{2, set_id, 0}}}, {"fchmodat2", 452, 0, {{2, set_id, 0}}},
            {"creat", -1, 0, {{1, set_id, 0}}},    {"open", -1, 0, {{1, creates, 0}}},
            {"open", -1, 0, {{2, set_id, 0}}},     {"openat", -1, 0, {{2, creates, 0}}},
            {"openat", -1, 0, {{3, set_id, 0}}}};
}

std::vector<syscall_rule> common_conditional_syscalls(std::span<const int> families)
{
    rules all;
    add_harmless(all);
    add_internet_sockets(all);
    add_transfers(all);
    add_socket_options(all);
    refuse_families_but(families, all);
    add_limits(all);
    return all;
}

}  // namespace cmcp::sandbox
