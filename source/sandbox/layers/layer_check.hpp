#pragma once

#include "jsonrpc/json.hpp"
#include "sandbox/layer.hpp"
#include "sandbox/layers/found_facts.hpp"

#include <span>
#include <string>

namespace cmcp::sandbox {

/// One layer of the isolation: how a run finds out whether it has it, and what the answer means.
struct layer_check {
    const char* name;
    void (*look)(json::object& facts);              ///< inside the finished sandbox; nullptr: others look for it too
    layer (*judge)(const found_facts& found);       ///< outside; its name is set by the caller
};

// One a file of this folder.
extern const layer_check user_namespace_check,
    pid_namespace_check,
    mount_namespace_check,
    network_namespace_check,
    ipc_namespace_check,
    uts_namespace_check,
    cgroup_namespace_check,
    time_namespace_check,
    seccomp_check,
    landlock_check,
    landlock_scope_check,
    capabilities_check,
    no_new_privs_check,
    rlimits_check,
    core_dumps_check,
    keyrings_check,
    tracing_check,
    cgroup_check,
    watchdog_check,
    workspace_quota_check,
    own_uid_check,
    private_proc_check,
    apparmor_check,
    firejail_check;

/// Every layer, in the order of the reports.
std::span<const layer_check* const> all_layer_checks();

inline layer on(std::string detail) { return {{}, layer::state::on, std::move(detail)}; }
inline layer off(std::string detail) { return {{}, layer::state::off, std::move(detail)}; }
inline layer degraded(std::string detail) { return {{}, layer::state::degraded, std::move(detail)}; }
inline layer not_asked(std::string detail) { return {{}, layer::state::not_asked, std::move(detail)}; }

/// On where the run has a namespace of its own of `kind` (a name below /proc/self/ns).
layer own_namespace(const found_facts& found, std::string_view kind, std::string detail = "a namespace of its own");

}  // namespace cmcp::sandbox
