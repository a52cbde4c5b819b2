#include "jail/layer_check.hpp"
#include "jail/probe.hpp"

namespace cmcp::sandbox {

std::span<const layer_check> all_layer_checks()
{
    static constexpr layer_check all[] = {
        {"user_namespace", nullptr, judge_user_namespace},
        {"pid_namespace", nullptr, judge_pid_namespace},
        {"mount_namespace", look_at_mount_namespace, judge_mount_namespace},
        {"network_namespace", look_at_network_namespace, judge_network_namespace},
        {"ipc_namespace", nullptr, judge_ipc_namespace},
        {"uts_namespace", nullptr, judge_uts_namespace},
        {"cgroup_namespace", nullptr, judge_cgroup_namespace},
        {"time_namespace", nullptr, judge_time_namespace},
        {"seccomp", look_at_seccomp, judge_seccomp},
        {"landlock", look_at_landlock, judge_landlock},
        {"landlock_scope", look_at_landlock_scope, judge_landlock_scope},
        {"capabilities", look_at_capabilities, judge_capabilities},
        {"no_new_privs", look_at_no_new_privs, judge_no_new_privs},
        {"rlimits", look_at_rlimits, judge_rlimits},
        {"core_dumps", look_at_core_dumps, judge_core_dumps},
        {"keyrings", nullptr, judge_keyrings},
        {"tracing", look_at_tracing, judge_tracing},
        {"cgroup", nullptr, judge_cgroup},
        {"watchdog", nullptr, judge_watchdog},
        {"workspace_quota", nullptr, judge_workspace_quota},
        {"own_uid", nullptr, judge_own_uid},
        {"private_proc", look_at_private_proc, judge_private_proc},
        {"apparmor", look_at_apparmor, judge_apparmor},
        {"firejail", nullptr, judge_firejail},
    };
    return all;
}

layers evaluate_probe(const json::object& inside, const json::object& launcher)
{
    layers all;
    for (const layer_check& each : all_layer_checks()) {
        layer judged = each.judge({inside, launcher});
        judged.name = each.name;
        all.push_back(std::move(judged));
    }
    return all;
}

}  // namespace cmcp::sandbox
