#include "sandbox/server_filter.hpp"

#include "jail/syscall_rules.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace cmcp::sandbox {
namespace {

constexpr std::string_view refused[] = {"execve",   "execveat", "fork",      "vfork",     "setuid",    "setgid",
                                        "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "capset"};
constexpr std::string_view added[] = {"openat2",      "open",       "openat",    "creat",     "chmod",
                                      "fchmod",       "fchmodat",   "fallocate", "setrlimit", "prlimit64",
                                      "memfd_create", "futex_wake", "futex_wait"};
constexpr std::uint64_t server_low32 = 0xffffffff;

bool is_refused(std::string_view name)
{
    return std::find(std::begin(refused), std::end(refused), name) != std::end(refused);
}

std::vector<syscall_rule> server_rules()
{
    std::vector<syscall_rule> all;
    for (std::string_view name : allowed_syscalls())
        if (!is_refused(name)) all.push_back({name, -1, 0, {}});
    for (std::string_view name : added) all.push_back({name, -1, 0, {}});
    // Threads only.
    constexpr std::uint64_t namespaces = 0x7e020000;  // CLONE_NEW* as clone knows them
    all.push_back({"clone", -1, 0, {{0, namespaces | CLONE_THREAD, CLONE_THREAD}}});
    all.push_back({"clone3", 435, ENOSYS, {}});
    for (std::uint64_t family : {AF_UNIX, AF_INET, AF_INET6})
        all.push_back({"socket", -1, 0, {{0, server_low32, family}}});
    // The C library asks for the machine's addresses when it looks up names.
    all.push_back({"socket", -1, 0, {{0, server_low32, AF_NETLINK}, {2, server_low32, NETLINK_ROUTE}}});
    all.push_back({"socketpair", -1, 0, {{0, server_low32, AF_UNIX}}});
    return all;
}

}  // namespace

bpf_program compile_server_filter() { return compile_rules(server_rules()); }

}  // namespace cmcp::sandbox
