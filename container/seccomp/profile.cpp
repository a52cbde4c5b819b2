#include "container/seccomp/profile.hpp"

#include "jail/syscall_rules.hpp"

#include <boost/json.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

namespace cmcp::container {
namespace {

namespace json = boost::json;

// What makes a sandbox. Each of them works only on namespaces that the caller made, since it has no capability outside.
constexpr std::string_view for_sandboxes[] = {
    "clone",
    "clone3",
    "unshare",
    "setns",
    "mount",
    "umount2",
    "pivot_root",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "mount_setattr",
    "sethostname",
    "chroot",
    "pidfd_getfd",       // the launcher looks at the UNIX socket of a run
    "process_vm_readv",  // the launcher tells which address or path a run was refused
};

// What the server itself uses beyond what its runs may: confined opening of files, files in memory, its resolver.
constexpr std::string_view for_server[] = {"openat2", "memfd_create", "socketpair", "fallocate"};

// The kernel's keyrings are shared by all containers of a user: only a new, empty session keyring may be asked for.
constexpr std::uint64_t join_session_keyring = 1;

json::object entry(std::string_view comment, const std::set<std::string_view>& names)
{
    json::object made;
    made["comment"] = json::string(comment);
    json::array& list = made["names"].emplace_array();
    for (std::string_view name : names) list.emplace_back(json::string(name));
    made["action"] = "SCMP_ACT_ALLOW";
    return made;
}

json::object entry_when(std::string_view comment, std::string_view name, unsigned index, std::uint64_t value)
{
    json::object made = entry(comment, {name});
    json::object condition;
    condition["index"] = index;
    condition["value"] = value;
    condition["op"] = "SCMP_CMP_EQ";
    made["args"].emplace_array().emplace_back(std::move(condition));
    return made;
}

// Calls that the sandbox allows for some arguments only are allowed here for all: the server and the set-up of a run
// need more of them, and the run's own filter stays. Those with a narrower rule below are left out.
std::set<std::string_view> for_runs()
{
    std::set<std::string_view> names(sandbox::allowed_syscalls().begin(), sandbox::allowed_syscalls().end());
    for (const auto& rule : sandbox::conditional_syscalls())
        if (rule.error == 0) names.insert(rule.name);
    for (std::string_view narrower : {"clone", "socket", "personality"}) names.erase(narrower);
    return names;
}

void add_personalities(json::array& to)
{
    for (const auto& rule : sandbox::conditional_syscalls())
        if (rule.name == "personality")
            to.emplace_back(entry_when("as in a run", "personality", rule.when[0].index, rule.when[0].value));
}

void add_sockets(json::array& to)
{
    for (std::uint64_t family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})
        to.emplace_back(entry_when("local, internet, and the list of addresses", "socket", 0, family));
}

json::array architectures()
{
    json::array names;
    for (const char* name : {"SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"}) names.emplace_back(name);
    return names;
}

json::array rules()
{
    json::array all;
    all.emplace_back(entry("what a run may call", for_runs()));
    all.emplace_back(entry("what makes a sandbox", {std::begin(for_sandboxes), std::end(for_sandboxes)}));
    all.emplace_back(entry("what the server needs", {std::begin(for_server), std::end(for_server)}));
    add_personalities(all);
    add_sockets(all);
    all.emplace_back(entry_when("a new session keyring", "keyctl", 0, join_session_keyring));
    return all;
}

// One line a rule, and long lists of names in lines of their own, so that a change can be reviewed.
void print_rule(std::ostream& to, const json::object& rule)
{
    constexpr std::size_t width = 110;
    std::string text = json::serialize(rule);
    while (text.size() > width) {
        const auto cut = text.rfind(',', width);
        to << text.substr(0, cut + 1) << "\n      ";
        text.erase(0, cut + 1);
    }
    to << text;
}

}  // namespace

std::string seccomp_profile()
{
    std::ostringstream out;
    out << "{\n  \"defaultAction\": \"SCMP_ACT_ERRNO\",\n  \"defaultErrnoRet\": " << ENOSYS
        << ",\n  \"architectures\": " << json::serialize(architectures()) << ",\n  \"syscalls\": [";
    const char* separator = "\n    ";
    for (const json::value& rule : rules()) {
        out << separator;
        print_rule(out, rule.as_object());
        separator = ",\n    ";
    }
    out << "\n  ]\n}\n";
    return out.str();
}

}  // namespace cmcp::container
