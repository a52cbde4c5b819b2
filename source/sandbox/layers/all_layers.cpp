#include "sandbox/layers/layer_check.hpp"
#include "sandbox/probe.hpp"

namespace cmcp::sandbox {

std::span<const layer_check* const> all_layer_checks()
{
    static constexpr const layer_check* all[] = {
        &user_namespace_check,
        &pid_namespace_check,
        &mount_namespace_check,
        &network_namespace_check,
        &ipc_namespace_check,
        &uts_namespace_check,
        &cgroup_namespace_check,
        &time_namespace_check,
        &seccomp_check,
        &landlock_check,
        &landlock_scope_check,
        &capabilities_check,
        &no_new_privs_check,
        &rlimits_check,
        &core_dumps_check,
        &keyrings_check,
        &tracing_check,
        &cgroup_check,
        &watchdog_check,
        &workspace_quota_check,
        &own_uid_check,
        &private_proc_check,
        &apparmor_check,
        &firejail_check,
    };
    return all;
}

layers evaluate_probe(const json::object& inside, const json::object& launcher)
{
    layers found;
    for (const layer_check* each : all_layer_checks()) {
        layer judged = each->judge({inside, launcher});
        judged.name = each->name;
        found.push_back(std::move(judged));
    }
    return found;
}

}  // namespace cmcp::sandbox
