#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// A layer of the isolation, as found by its effect in a probe run.
struct layer {
    enum class state { on, degraded, off, not_asked };

    std::string name;  ///< user_namespace, pid_namespace, mount_namespace, network_namespace, ipc_namespace,
                       ///< uts_namespace, cgroup_namespace, time_namespace, seccomp, landlock, landlock_scope,
                       ///< capabilities, no_new_privs, rlimits, core_dumps, keyrings, tracing, memory, pids, cpu,
                       ///< watchdog, workspace_quota, own_uid, private_proc, own_files, apparmor, firejail (layers/),
                       ///< server_self, browser_sandbox
    state is = state::off;
    std::string detail;  ///< how far, or why not; for example "ABI 7", "cgroup v2 is mounted read-only here"
};

using layers = std::vector<layer>;

std::string_view to_string(layer::state s);

/// The names in `required` (namespaces, no_network, limits, or a layer's name) that are not on; degraded is not on.
/// Empty: all are there.
std::vector<std::string> missing(const layers& all, const std::vector<std::string>& required);

/// The layers because of which names in `required` are missing.
std::vector<std::string> blamed(const layers& all, const std::vector<std::string>& required);

/// Whether SANDBOX_REQUIRE may name it: a group or a layer.
bool is_layer_name(const layers& all, std::string_view name);
std::vector<std::string> layer_names(const layers& all);

}  // namespace cmcp::sandbox
