#include "probe/probe_facts.hpp"

#include "posix/child_process.hpp"
#include "posix/unique_fd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace cmcp::sandbox {
namespace {

struct namespace_kind {
    const char* name;
    unsigned long pidfd_request;  // PIDFD_GET_*_NAMESPACE of Linux 6.11, for where there is no /proc
};

constexpr unsigned long pidfd_io(unsigned n) { return _IO(0xff, n); }

constexpr namespace_kind kinds[] = {{"cgroup", pidfd_io(1)}, {"ipc", pidfd_io(2)}, {"mnt", pidfd_io(3)},
                                    {"net", pidfd_io(4)},    {"pid", pidfd_io(5)}, {"time", pidfd_io(7)},
                                    {"user", pidfd_io(9)},   {"uts", pidfd_io(10)}};

std::uint64_t namespace_inode(const namespace_kind& kind)
{
    struct stat status {};
    const std::string path = std::string("/proc/self/ns/") + kind.name;
    if (::stat(path.c_str(), &status) == 0) return status.st_ino;
    unique_fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
    unique_fd opened(self ? ::ioctl(self.get(), kind.pidfd_request, 0) : -1);
    return opened && ::fstat(opened.get(), &status) == 0 ? status.st_ino : 0;
}

// Rules are for good, so a child tries. Each level needs a rule set that handles something; nothing needs to be
// allowed.
int count_landlock_levels()
{
    const std::uint64_t handled[] = {1};
    unique_fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, handled, sizeof handled, 0)));
    if (!rules || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
    constexpr int more_than_possible = 64;
    int levels = 0;
    while (levels != more_than_possible && ::syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0) ++levels;
    return levels;
}

// The arguments are such that a kernel without filter answers something else, whatever the caller's rights are. ENOSYS
// is the answer of a container's own filter, which comes before ours where ours asks the launcher, and of a kernel
// without the call.
bool refused(long result, int expected) { return result == -1 && (errno == expected || errno == ENOSYS); }

bool socket_refused(int family)
{
    unique_fd opened(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return !opened && errno == EAFNOSUPPORT;
}

// All of its protocols but the one that tells interfaces.
bool netlink_refused()
{
    unique_fd opened(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
    return !opened && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT);
}

bool is_up(int socket, const ifreq& interface)
{
    ifreq flags = interface;
    return ::ioctl(socket, SIOCGIFFLAGS, &flags) == 0 && (flags.ifr_flags & IFF_UP) != 0;
}

json::array interfaces_up()
{
    constexpr int highest_index = 256;
    json::array names;
    unique_fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    for (int index = 1; socket && index != highest_index; ++index) {
        ifreq interface {
        };
        interface.ifr_ifindex = index;
        if (::ioctl(socket.get(), SIOCGIFNAME, &interface) == 0 && is_up(socket.get(), interface))
            names.emplace_back(interface.ifr_name);
    }
    return names;
}

template <class Address>
bool unreachable(const Address& address, int family)
{
    unique_fd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket) return true;  // without the family there is no way either
    const int result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return result != 0 && errno != EINPROGRESS;
}

// Addresses reserved for documentation: nobody answers, but a route out shows as "in progress".
bool outside_unreachable()
{
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(443);
    ::inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(443);
    ::inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr);
    return unreachable(four, AF_INET) && unreachable(six, AF_INET6);
}

std::int64_t hard_limit(int resource)
{
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
    return limit.rlim_max == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(limit.rlim_max);
}

}  // namespace

json::object namespace_facts()
{
    json::object facts;
    for (const namespace_kind& kind : kinds)
        if (std::uint64_t inode = namespace_inode(kind); inode != 0) facts[kind.name] = inode;
    return facts;
}

int landlock_levels_left()
{
    const int status = in_forked_child(count_landlock_levels);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

json::object refusal_facts()
{
    constexpr int invalid = -1;
    json::object facts;
    facts["unshare"] = refused(::syscall(SYS_unshare, 0), EPERM);
    facts["setns"] = refused(::syscall(SYS_setns, invalid, 0), EPERM);
    facts["clone3"] = refused(::syscall(SYS_clone3, nullptr, 0), ENOSYS);
    facts["open_tree"] = refused(::syscall(SYS_open_tree, invalid, "/", 0xffff0000u), EPERM);
    facts["move_mount"] = refused(::syscall(SYS_move_mount, invalid, "", invalid, "", 0xffff0000u), EPERM);
    facts["ptrace"] = refused(::syscall(SYS_ptrace, PTRACE_PEEKDATA, invalid, nullptr, nullptr), EPERM);
    facts["process_vm_readv"] = refused(::syscall(SYS_process_vm_readv, 0, nullptr, 0, nullptr, 0, 1), EPERM);
    facts["keyctl"] = refused(::syscall(SYS_keyctl, invalid), EPERM);
    facts["add_key"] = refused(::syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0), EPERM);
    facts["io_uring_setup"] = refused(::syscall(SYS_io_uring_setup, 0, nullptr), EPERM);
    facts["TIOCSTI"] = refused(::ioctl(invalid, TIOCSTI, ""), EPERM);
    facts["AF_NETLINK"] = netlink_refused();
    facts["AF_VSOCK"] = socket_refused(AF_VSOCK);
    facts["AF_ALG"] = socket_refused(AF_ALG);
    return facts;
}

json::object network_facts()
{
    json::object facts;
    facts["interfaces"] = interfaces_up();
    facts["unreachable"] = outside_unreachable();
    return facts;
}

json::object limit_facts()
{
    json::object facts;
    facts["core"] = hard_limit(RLIMIT_CORE);
    facts["cpu"] = hard_limit(RLIMIT_CPU);
    facts["fsize"] = hard_limit(RLIMIT_FSIZE);
    facts["nofile"] = hard_limit(RLIMIT_NOFILE);
    facts["nproc"] = hard_limit(RLIMIT_NPROC);
    facts["msgqueue"] = hard_limit(RLIMIT_MSGQUEUE);
    return facts;
}

std::optional<std::int64_t> number(const json::object& facts, std::string_view name)
{
    const json::value* fact = facts.if_contains(name);
    if (fact == nullptr || !fact->is_number()) return std::nullopt;
    boost::system::error_code ec;
    const auto value = fact->to_number<std::int64_t>(ec);
    return ec ? std::nullopt : std::optional(value);
}

std::optional<std::string> text(const json::object& facts, std::string_view name)
{
    const json::value* fact = facts.if_contains(name);
    if (fact == nullptr || !fact->is_string()) return std::nullopt;
    return std::string(fact->get_string());
}

}  // namespace cmcp::sandbox
