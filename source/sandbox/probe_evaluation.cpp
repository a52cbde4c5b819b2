#include "sandbox/probe.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp::sandbox {
namespace {

using state = layer::state;

// A fact that is missing or of another kind counts as the bad case: no layer is on because nobody looked.
const json::object& part(const json::object& facts, std::string_view name)
{
    static const json::object nothing;
    const json::value* found = facts.if_contains(name);
    return found != nullptr && found->is_object() ? found->get_object() : nothing;
}

std::optional<std::int64_t> number(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    if (found == nullptr || !found->is_number()) return std::nullopt;
    boost::system::error_code ec;
    const auto value = found->to_number<std::int64_t>(ec);
    return ec ? std::nullopt : std::optional(value);
}

bool is_true(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    return found != nullptr && found->is_bool() && found->get_bool();
}

std::optional<std::string> text(const json::object& facts, std::string_view name)
{
    const json::value* found = facts.if_contains(name);
    if (found == nullptr || !found->is_string()) return std::nullopt;
    return std::string(found->get_string());
}

layer on(std::string name, std::string detail) { return {std::move(name), state::on, std::move(detail)}; }
layer off(std::string name, std::string detail) { return {std::move(name), state::off, std::move(detail)}; }
layer degraded(std::string name, std::string detail) { return {std::move(name), state::degraded, std::move(detail)}; }

std::string list(const std::vector<std::string>& names)
{
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
    return all;
}

/// The two reports side by side.
class comparison {
public:
    comparison(const json::object& inside, const json::object& launcher) : inside_(inside), launcher_(launcher) {}

    layers all() const
    {
        return {user_namespace(),
                pid_namespace(),
                mount_namespace(),
                network_namespace(),
                plain_namespace("ipc_namespace", "ipc"),
                uts_namespace(),
                plain_namespace("cgroup_namespace", "cgroup"),
                plain_namespace("time_namespace", "time"),
                seccomp(),
                landlock(),
                capabilities(),
                no_new_privs(),
                rlimits(),
                cgroup(),
                watchdog(),
                own_uid(),
                private_proc(),
                apparmor(),
                firejail()};
    }

private:
    // Nothing when one of the two could not be read.
    std::optional<bool> differs(std::string_view kind) const
    {
        const auto here = number(part(inside_, "namespaces"), kind);
        const auto there = number(part(launcher_, "namespaces"), kind);
        if (!here || !there) return std::nullopt;
        return *here != *there;
    }

    layer plain_namespace(std::string name, std::string_view kind, std::string detail = "a namespace of its own") const
    {
        const auto own = differs(kind);
        if (!own)
            return off(std::move(name),
                       "it cannot be compared: there is no /proc and the kernel is too old to tell otherwise");
        return *own ? on(std::move(name), std::move(detail)) : off(std::move(name), "shared with the launcher");
    }

    layer user_namespace() const
    {
        layer found = plain_namespace("user_namespace", "user");
        if (found.is == state::on && !is_true(part(inside_, "refused"), "unshare"))
            return degraded("user_namespace", "a run can make further namespaces inside");
        return found;
    }

    layer pid_namespace() const
    {
        const auto pid = number(part(inside_, "identity"), "pid").value_or(-1);
        return plain_namespace("pid_namespace", "pid", "the program is process " + std::to_string(pid));
    }

    layer mount_namespace() const
    {
        layer found = plain_namespace("mount_namespace", "mnt", "a root of its own, read-only");
        if (found.is == state::on && !is_true(inside_, "root_read_only"))
            return degraded("mount_namespace", "the root folder can be written to");
        return found;
    }

    layer uts_namespace() const
    {
        return plain_namespace("uts_namespace", "uts",
                               "host name " + text(part(inside_, "identity"), "host_name").value_or("unknown"));
    }

    layer network_namespace() const
    {
        const json::object& network = part(inside_, "network");
        layer found = plain_namespace("network_namespace", "net", "loopback only");
        if (found.is != state::on) return found;
        if (!is_true(network, "unreachable")) return off("network_namespace", "there is a route to addresses outside");
        const json::value* interfaces = network.if_contains("interfaces");
        if (interfaces == nullptr || !interfaces->is_array())
            return off("network_namespace", "its interfaces are unknown");
        for (const json::value& name : interfaces->get_array())
            if (!name.is_string() || name.get_string() != "lo")
                return off("network_namespace", "it has interfaces besides loopback: " + json::serialize(name));
        return found;
    }

    layer seccomp() const
    {
        constexpr int filter_mode = 2;
        if (number(inside_, "seccomp_mode") != filter_mode) return off("seccomp", "no filter is in force");
        std::vector<std::string> open;
        const json::object& refused = part(inside_, "refused");
        for (const auto& [name, answer] : refused)
            if (!is_true(refused, name)) open.emplace_back(name);
        if (refused.empty()) return degraded("seccomp", "a filter is in force; what it refuses was not tried");
        if (!open.empty()) return degraded("seccomp", "not refused: " + list(open));
        return on("seccomp",
                  "an allow-list; " + std::to_string(refused.size()) + " forbidden calls were tried and refused");
    }

    layer landlock() const
    {
        const auto version = number(launcher_, "landlock_abi").value_or(0);
        if (version == 0) return off("landlock", "the kernel does not have it, or it is switched off");
        // A rule set in force takes one of the levels that can be stacked.
        const auto before = number(launcher_, "landlock_levels").value_or(-1);
        const auto after = number(inside_, "landlock_levels").value_or(-1);
        if (before < 0 || after < 0 || after >= before) return off("landlock", "no rules are in force in a run");
        return on("landlock", "ABI " + std::to_string(version));
    }

    layer capabilities() const
    {
        const json::object& found = part(inside_, "capabilities");
        if (number(found, "held") != 0 || number(found, "ambient") != 0)
            return off("capabilities", "a run holds capabilities");
        if (number(found, "bounding") != 0)
            return degraded("capabilities",
                            "none is held; the bounding set is not empty, so only no_new_privs keeps them away");
        return on("capabilities", "none, and none can be gained");
    }

    layer no_new_privs() const
    {
        return is_true(inside_, "no_new_privs") ? on("no_new_privs", "set-uid programs give no rights")
                                                : off("no_new_privs", "not set");
    }

    layer rlimits() const
    {
        const json::object& found = part(inside_, "limits");
        std::vector<std::string> open;
        for (std::string_view name : {"cpu", "fsize", "nofile", "nproc"})
            if (number(found, name).value_or(-1) < 0) open.emplace_back(name);
        for (std::string_view name : {"core", "msgqueue"})
            if (number(found, name) != 0) open.emplace_back(name);
        if (open.empty())
            return on("rlimits", "processor time, file size, open files, processes, core files, message queues");
        constexpr std::size_t all = 6;
        if (open.size() == all) return off("rlimits", "no limit is in force");
        return degraded("rlimits", "not limited: " + list(open));
    }

    layer cgroup() const
    {
        const auto why_not = text(launcher_, "cgroup");
        if (!why_not) return off("cgroup", "the launcher places runs into none");
        if (!why_not->empty()) return off("cgroup", *why_not);
        return on("cgroup", "memory and processes of a run are limited together");
    }

    layer watchdog() const
    {
        if (!is_true(launcher_, "watchdog")) return off("watchdog", "the launcher does not watch its runs");
        return on("watchdog", "the launcher watches memory, processes and time of a run");
    }

    layer own_uid() const
    {
        const auto outside = number(part(inside_, "identity"), "outside_uid").value_or(-1);
        const auto launcher = number(launcher_, "uid").value_or(-1);
        if (outside < 0 || launcher < 0) return off("own_uid", "the user outside cannot be seen without /proc");
        if (outside == launcher)
            return off("own_uid", "a run is the server's user outside: without privilege there is no other");
        return on("own_uid", "user " + std::to_string(outside) + " outside");
    }

    layer private_proc() const
    {
        const json::object& proc = part(inside_, "proc");
        if (proc.empty()) return off("private_proc", "nobody looked");
        if (!is_true(proc, "there"))
            return degraded("private_proc", "there is no /proc: this place refuses a fresh one");
        if (!is_true(proc, "own")) return off("private_proc", "/proc shows another PID namespace");
        if (is_true(proc, "system_settings"))
            return degraded("private_proc", "own processes only, but kernel settings are visible");
        return on("private_proc", "own processes only, no kernel settings");
    }

    layer apparmor() const
    {
        const std::string profile = text(inside_, "apparmor").value_or("");
        if (profile.empty()) return {"apparmor", state::not_asked, "no profile is applied"};
        if (profile.starts_with("unconfined")) return {"apparmor", state::not_asked, "no profile is applied"};
        if (profile.find("(complain)") != std::string::npos) return degraded("apparmor", "profile " + profile);
        return on("apparmor", "profile " + profile);
    }

    layer firejail() const { return {"firejail", state::not_asked, "the native backend does not use it"}; }

    const json::object& inside_;
    const json::object& launcher_;
};

}  // namespace

layers evaluate_probe(const json::object& inside, const json::object& launcher)
{
    return comparison(inside, launcher).all();
}

}  // namespace cmcp::sandbox
