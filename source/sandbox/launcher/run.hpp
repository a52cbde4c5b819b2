#pragma once

#include "identities.hpp"
#include "sandbox/cgroup.hpp"
#include "sandbox/launcher_protocol.hpp"
#include "sandbox/packet_socket.hpp"
#include "sandbox/refusal_listener.hpp"
#include "sandbox/seccomp_filter.hpp"
#include "sandbox/verdict.hpp"
#include "sandbox/watchdog.hpp"
#include "view_store.hpp"
#include "workspace_ledger.hpp"

#include <chrono>
#include <optional>

namespace cmcp::sandbox {

using steady_time = std::chrono::steady_clock::time_point;

/// The system call filters, built once.
struct call_filters {
    explicit call_filters(bool memory_is_counted);
    std::vector<const bpf_program*> choose(const program_view& programs) const;
    const bpf_program* announcing(const program_view& programs) const;

    bool memory_is_counted;    ///< by a cgroup; otherwise only what processes map can be counted
    bpf_program general;
    bpf_program listed;        ///< under an allow-list
    bpf_program announcing_general;
    bpf_program announcing_listed;
    bpf_program uncounted;
};

/// What all runs share.
struct workshop {
    identities& ids;
    view_store& views;
    workspace_ledger& workspaces;
    const cgroup_parent& cgroups;
    const call_filters& filters;
    bool with_time_namespace;
    bool with_apparmor;
};

/// One run in flight, seen from the launcher.
class run {
public:
    /// Clones the child and lets it go. Throws step_failed; then nothing runs.
    run(workshop& shop, start_message start, std::vector<unique_fd> descriptors);
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run();

    std::uint64_t id() const { return id_; }
    int pidfd() const { return child_.pidfd.get(); }
    int control() const { return control_.get(); }

    /// Reads what the child says. False: it will say no more.
    bool hear();

    /// The descriptor to watch for refused calls; -1: none yet, none any more, or too many came at once. Changes in hear(),
    /// hear_refusal() and look().
    int refusals() const { return refusals_budget_ > 0 ? refusals_.readable() : -1; }
    void hear_refusal();

    void kill(cause why);

    /// The next moment at which look() wants to be called.
    steady_time next_event() const { return std::min(deadline_, next_look_); }
    void look(steady_time now);

    /// Once pidfd() is readable: collects the child; nothing of the run is left then.
    ended_message finish();

private:
    void prepare_workspace(workshop& shop, struct jail_plan& plan);
    void launch(workshop& shop, struct jail_plan& plan);
    void measure(steady_time now);
    void listen(unique_fd listener);
    void open_workspace(struct jail_plan& plan);
    bool look_at_workspace();
    bool hides_files(tree_bounds most) const;

    identities& ids_;
    workspace_ledger& workspaces_;
    std::uint64_t id_;
    unsigned number_;
    run_limits limits_;
    run_cgroup cgroup_;
    cloned child_;
    unique_fd control_;
    usage_meter meter_;
    refusal_listener refusals_;
    int refusals_budget_ = 0;          ///< how many more are answered before the next look
    std::vector<std::string> denied_;
    unique_fd workspace_;              ///< none: its size does not count
    workspace_ledger::key workspace_key_{};
    workspace_ledger::room room_at_start_;
    bool began_full_ = false;
    steady_time begun_;
    steady_time deadline_;
    steady_time next_look_;
    evidence found_;
    bool failed_ = false;
    std::string failure_;
    std::string detail_;
    std::uint64_t peak_memory_ = 0;
    bool reached_process_limit_ = false;
};

}  // namespace cmcp::sandbox
