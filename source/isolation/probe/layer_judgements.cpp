#include "probe/judgement.hpp"
#include "probe/limit_judgements.hpp"
#include "probe/probe.hpp"
#include "text/words.hpp"

#include <algorithm>

namespace cmcp::sandbox {
namespace {

// On where the run has a namespace of its own of `kind` (a name below /proc/self/ns).
layer own_namespace(const both_sides& facts, std::string_view kind, std::string detail = "a namespace of its own")
{
    const auto here = number(object_of(facts.inside, "namespaces"), kind);
    const auto there = number(object_of(facts.launcher, "namespaces"), kind);
    if (!here || !there)
        return off("it cannot be compared: there is no /proc and the kernel is too old to tell otherwise");
    return on_if(*here != *there, std::move(detail), "shared with the launcher");
}

layer judge_user_namespace(const both_sides& facts)
{
    layer own = own_namespace(facts, "user");
    if (own.is == layer::state::on && !flag_of(object_of(facts.inside, "refused"), "unshare"))
        return degraded("a run can make further namespaces inside");
    return own;
}

layer judge_pid_namespace(const both_sides& facts)
{
    const auto pid = number(object_of(facts.inside, "identity"), "pid").value_or(-1);
    return own_namespace(facts, "pid", "the program is process " + std::to_string(pid));
}

layer judge_mount_namespace(const both_sides& facts)
{
    layer own = own_namespace(facts, "mnt", "a root of its own, read-only");
    if (own.is == layer::state::on && !flag_of(facts.inside, "root_read_only"))
        return degraded("the root folder can be written to");
    return own;
}

layer judge_network_namespace(const both_sides& facts)
{
    const json::object& network = object_of(facts.inside, "network");
    layer own = own_namespace(facts, "net", "loopback only");
    if (own.is != layer::state::on) return own;
    if (!flag_of(network, "unreachable")) return off("there is a route to addresses outside");
    const json::value* interfaces = network.if_contains("interfaces");
    if (interfaces == nullptr || !interfaces->is_array()) return off("its interfaces are unknown");
    for (const json::value& name : interfaces->get_array())
        if (!name.is_string() || name.get_string() != "lo")
            return off("it has interfaces besides loopback: " + json::serialize(name));
    return own;
}

layer judge_uts_namespace(const both_sides& facts)
{
    return own_namespace(facts, "uts",
                         "host name " + text(object_of(facts.inside, "identity"), "host_name").value_or("unknown"));
}

layer judge_time_namespace(const both_sides& facts)
{
    const bool known = number(object_of(facts.launcher, "namespaces"), "time").has_value();
    return known ? own_namespace(facts, "time") : off("the kernel has no time namespaces");
}

layer judge_seccomp(const both_sides& facts)
{
    constexpr int filter_mode = 2;
    if (number(facts.inside, "seccomp_mode") != filter_mode) return off("no filter is in force");
    std::vector<std::string> open;
    const json::object& refused = object_of(facts.inside, "refused");
    for (const auto& [name, answer] : refused)
        if (!flag_of(refused, name)) open.emplace_back(name);
    if (refused.empty()) return degraded("a filter is in force; what it refuses was not tried");
    if (!open.empty()) return degraded("not refused: " + joined(open, ", "));
    return on("an allow-list; " + std::to_string(refused.size()) + " forbidden calls were tried and refused");
}

layer judge_landlock(const both_sides& facts)
{
    const auto version = number(facts.launcher, "landlock_abi").value_or(0);
    if (version == 0) return off("the kernel does not have it, or it is switched off");
    // A rule set in force takes one of the levels that can be stacked.
    const auto before = number(facts.launcher, "landlock_levels").value_or(-1);
    const auto after = number(facts.inside, "landlock_levels").value_or(-1);
    if (before < 0 || after < 0 || after >= before) return off("no rules are in force in a run");
    return on("ABI " + std::to_string(version));
}

layer judge_landlock_scope(const both_sides& facts)
{
    constexpr int first_with_scopes = 6;
    const auto version = number(facts.launcher, "landlock_abi").value_or(0);
    if (version < first_with_scopes) return off("needs Landlock ABI 6; here it is " + std::to_string(version));
    if (flag_of(facts.inside, "makes_no_local_socket"))
        return off("cannot be tried: seccomp lets a run make no socket that could connect to one outside");
    if (!flag_of(facts.inside, "outside_socket_refused"))
        return off("a run can connect to an abstract socket made outside its rules");
    return on("no signals to processes and no connections to abstract sockets outside the run");
}

layer judge_capabilities(const both_sides& facts)
{
    const json::object& sets = object_of(facts.inside, "capabilities");
    if (number(sets, "held") != 0 || number(sets, "ambient") != 0) return off("a run holds capabilities");
    if (number(sets, "bounding") != 0)
        return degraded("none is held; the bounding set is not empty, so only no_new_privs keeps them away");
    return on("none, and none can be gained");
}

layer judge_no_new_privs(const both_sides& facts)
{
    return on_if(flag_of(facts.inside, "no_new_privs"), "set-uid programs give no rights", "not set");
}

layer judge_core_dumps(const both_sides& facts)
{
    if (!flag_of(facts.inside, "crash_leaves_no_core")) return off("a program that crashes leaves a core dump");
    if (!flag_of(facts.inside, "core_limit_stays"))
        return degraded("no files, but a handler of the host may be given the dump");
    return on("none, neither as file nor to a handler of the host");
}

layer judge_keyrings(const both_sides& facts)
{
    const json::object& refused = object_of(facts.inside, "refused");
    return on_if(flag_of(refused, "keyctl") && flag_of(refused, "add_key"), "the kernel's keys cannot be used",
                 "a run can use the kernel's keys");
}

layer judge_tracing(const both_sides& facts)
{
    const json::object& refused = object_of(facts.inside, "refused");
    const bool calls = flag_of(refused, "ptrace") && flag_of(refused, "process_vm_readv");
    if (!calls) return off("a run can trace processes");
    if (!flag_of(facts.inside, "first_process_closed"))
        return off("a run can read the memory of the sandbox's first process");
    return on("no process can be traced or read");
}

layer judge_own_uid(const both_sides& facts)
{
    const auto outside = number(object_of(facts.inside, "identity"), "outside_uid").value_or(-1);
    const auto launcher = number(facts.launcher, "uid").value_or(-1);
    if (outside < 0 || launcher < 0) return off("the user outside cannot be seen without /proc");
    if (outside == launcher) return off("a run is the server's user outside: without privilege there is no other");
    return on("user " + std::to_string(outside) + " outside");
}

bool shows_first_process(const json::object& proc)
{
    const json::value* shown = proc.if_contains("processes");
    if (shown == nullptr || !shown->is_array()) return true;
    const auto& pids = shown->get_array();
    return std::any_of(pids.begin(), pids.end(), [](const json::value& pid) { return pid == 1; });
}

layer judge_private_proc(const both_sides& facts)
{
    const json::object& proc = object_of(facts.inside, "proc");
    if (proc.empty()) return off("nobody looked");
    if (!flag_of(proc, "there")) return degraded("there is no /proc: the kernel refuses a new mount of it here");
    if (!flag_of(proc, "own")) return off("/proc shows another PID namespace");
    if (flag_of(proc, "system_settings")) return degraded("own processes only, but kernel settings are visible");
    if (shows_first_process(proc)) return degraded("the sandbox's first process is visible");
    if (flag_of(proc, "figures"))
        return on("own processes only, no kernel settings; memory and processors as limits allow");
    return on(
        "own processes only, no kernel settings; no meminfo, cpuinfo, stat, loadavg, uptime: this machine cannot show "
        "them alone");
}

layer judge_own_files(const both_sides& facts)
{
    const auto outside = number(facts.launcher, "usr_device"), inside = number(facts.inside, "usr_device");
    if (!outside || !inside) return off("the file system of /usr is not known");
    return on_if(*outside != *inside, "/usr is a file system of its own, so watches and locks meet nobody else's",
                 "runs share the inodes of /usr with the machine and each other, so inotify is refused");
}

layer judge_apparmor(const both_sides& facts)
{
    const auto why_not = text(facts.launcher, "apparmor");
    if (!why_not) return not_asked("no profile is applied");
    if (!why_not->empty()) return off(*why_not);
    const std::string profile = text(facts.inside, "apparmor").value_or("");
    if (profile.empty() || profile.starts_with("unconfined")) return off("no profile is in force in a run");
    if (profile.find("(complain)") != std::string::npos) return degraded("profile " + profile);
    return on("profile " + profile);
}

layer judge_firejail(const both_sides& facts)
{
    const auto version = text(facts.launcher, "firejail");
    if (!version) return not_asked("the native backend does not use it");
    // The layers tell its work; here only whether Firejail did it.
    const bool own =
        own_namespace(facts, "pid").is == layer::state::on && own_namespace(facts, "mnt").is == layer::state::on;
    return on_if(own, *version + " makes the namespaces and mounts of a run",
                 *version + " runs programs unconfined here");
}

struct layer_judgement {
    const char* name;
    layer (*judge)(const both_sides& facts);  // its name is set by the caller
};

// Every layer, in the order of the reports.
constexpr layer_judgement judgements[] = {
    {"user_namespace", judge_user_namespace},
    {"pid_namespace", judge_pid_namespace},
    {"mount_namespace", judge_mount_namespace},
    {"network_namespace", judge_network_namespace},
    {"ipc_namespace", [](const both_sides& facts) { return own_namespace(facts, "ipc"); }},
    {"uts_namespace", judge_uts_namespace},
    {"cgroup_namespace", [](const both_sides& facts) { return own_namespace(facts, "cgroup"); }},
    {"time_namespace", judge_time_namespace},
    {"seccomp", judge_seccomp},
    {"landlock", judge_landlock},
    {"landlock_scope", judge_landlock_scope},
    {"capabilities", judge_capabilities},
    {"no_new_privs", judge_no_new_privs},
    {"rlimits", judge_rlimits},
    {"core_dumps", judge_core_dumps},
    {"keyrings", judge_keyrings},
    {"tracing", judge_tracing},
    {"memory", judge_memory},
    {"pids", judge_pids},
    {"cpu", judge_cpu},
    {"watchdog", judge_watchdog},
    {"workspace_quota", judge_workspace_quota},
    {"own_uid", judge_own_uid},
    {"private_proc", judge_private_proc},
    {"own_files", judge_own_files},
    {"apparmor", judge_apparmor},
    {"firejail", judge_firejail},
};

}  // namespace

layers evaluate_probe(const json::object& inside, const json::object& launcher)
{
    layers all;
    for (const auto& [name, judge] : judgements) {
        all.push_back(judge({inside, launcher}));
        all.back().name = name;
    }
    return all;
}

}  // namespace cmcp::sandbox
