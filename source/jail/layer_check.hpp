#pragma once

#include "jail/found_facts.hpp"
#include "jail/layer.hpp"
#include "jsonrpc/json.hpp"

#include <span>
#include <string>

namespace cmcp::sandbox {

/// One layer of the isolation: how a run finds out whether it has it, and what the answer means.
struct layer_check {
    const char* name;
    void (*look)(json::object& facts);         ///< inside the finished sandbox; nullptr: others look for it too
    layer (*judge)(const found_facts& facts);  ///< outside; its name is set by the caller
};

// layer_facts.cpp
void look_at_mount_namespace(json::object& facts);
void look_at_network_namespace(json::object& facts);
void look_at_seccomp(json::object& facts);
void look_at_landlock(json::object& facts);
void look_at_landlock_scope(json::object& facts);
void look_at_capabilities(json::object& facts);
void look_at_no_new_privs(json::object& facts);
void look_at_rlimits(json::object& facts);
void look_at_core_dumps(json::object& facts);
void look_at_tracing(json::object& facts);
void look_at_private_proc(json::object& facts);
void look_at_apparmor(json::object& facts);

// layer_judgements.cpp
layer judge_user_namespace(const found_facts& facts);
layer judge_pid_namespace(const found_facts& facts);
layer judge_mount_namespace(const found_facts& facts);
layer judge_network_namespace(const found_facts& facts);
layer judge_ipc_namespace(const found_facts& facts);
layer judge_uts_namespace(const found_facts& facts);
layer judge_cgroup_namespace(const found_facts& facts);
layer judge_time_namespace(const found_facts& facts);
layer judge_seccomp(const found_facts& facts);
layer judge_landlock(const found_facts& facts);
layer judge_landlock_scope(const found_facts& facts);
layer judge_capabilities(const found_facts& facts);
layer judge_no_new_privs(const found_facts& facts);
layer judge_rlimits(const found_facts& facts);
layer judge_core_dumps(const found_facts& facts);
layer judge_keyrings(const found_facts& facts);
layer judge_tracing(const found_facts& facts);
layer judge_cgroup(const found_facts& facts);
layer judge_watchdog(const found_facts& facts);
layer judge_workspace_quota(const found_facts& facts);
layer judge_own_uid(const found_facts& facts);
layer judge_private_proc(const found_facts& facts);
layer judge_apparmor(const found_facts& facts);
layer judge_firejail(const found_facts& facts);

/// Every layer, in the order of the reports.
std::span<const layer_check> all_layer_checks();

inline layer on(std::string detail) { return {{}, layer::state::on, std::move(detail)}; }
inline layer off(std::string detail) { return {{}, layer::state::off, std::move(detail)}; }
inline layer degraded(std::string detail) { return {{}, layer::state::degraded, std::move(detail)}; }
inline layer not_asked(std::string detail) { return {{}, layer::state::not_asked, std::move(detail)}; }

/// On where the run has a namespace of its own of `kind` (a name below /proc/self/ns).
layer own_namespace(const found_facts& facts, std::string_view kind, std::string detail = "a namespace of its own");

}  // namespace cmcp::sandbox
