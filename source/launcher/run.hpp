#pragma once

#include "jail/identities.hpp"
#include "jail/jail.hpp"
#include "jail/refusal_listener.hpp"
#include "jail/seccomp_filter.hpp"
#include "jail/verdict.hpp"
#include "jail/watchdog.hpp"
#include "jsonrpc/json.hpp"
#include "launcher/cgroup.hpp"
#include "launcher/firejail.hpp"
#include "launcher/measurer.hpp"
#include "launcher/view_store.hpp"
#include "launcher/workspace_ledger.hpp"
#include "launcher/workspace_root.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <chrono>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

namespace cmcp::sandbox {

using steady_time = std::chrono::steady_clock::time_point;

/// Parts of the launcher that all its runs share.
struct shared_parts {
    identities& ids;
    view_store* views;           ///< none under Firejail
    const workspace_root& root;  ///< of workspaces
    workspace_ledger& workspaces;
    cgroup_tree& cgroups;
    killed_processes& measurers;  ///< of runs that are over
    const call_filters& filters;
    bool with_time_namespace;
    bool with_apparmor;
    firejail* jailer;  ///< none: the launcher makes namespaces and mounts itself
};

/// A run, seen from the launcher: it is planned, gets a process, stands by or begins at once, and is reported.
class run {
public:
    /// A run of this shape without a process: launch(), launch_standby() or attach() gives it one. `key`: the
    /// launcher's own number for it. Throws step_failed.
    run(const shared_parts& parts, std::uint64_t key, const run_request& request, bool probe);
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run();  ///< ends it

    /// Clones a process that begins at once. Throws step_failed, then nothing runs.
    void launch(const start_message& start, std::vector<unique_fd> descriptors);

    /// Clones a process that stands by, its program held by `library` where there is one (not -1: held_program.hpp).
    /// Throws step_failed, then nothing runs.
    void launch_standby(int library);

    std::vector<int> clone_descriptors() const;  ///< for the order of a clone to a zygote
    void attach(cloned child);                   ///< the clone will stand by; throws, then the run must be ended

    const run_request& request() const { return plan_->request; }  ///< as long as it has no process
    std::uint64_t id() const { return id_; }                       ///< the server's number; 0: it has not begun
    int pidfd() const { return child_.pidfd.get(); }               ///< -1: it has no process
    int control() const { return control_.get(); }

    bool stands_by() const { return phase_ == phase::stands_by; }
    /// The workspace is still that folder, and as full; the view is that of a new run.
    bool fits(const run_request& request) const;
    void begin(const start_message& start, const std::vector<unique_fd>& descriptors);  ///< throws: it has not begun
    bool begun() const { return phase_ >= phase::runs; }
    const std::string& failure() const { return failure_; }

    /// Reads the child's messages. False: it will send no more.
    bool hear();

    /// The descriptor to watch for refused calls; -1: none yet, none any more, or too many came at once. Changes in
    /// hear(), hear_refusal() and look().
    int refusals() const { return refusals_.readable(); }
    void hear_refusal();

    /// The descriptor to watch for figures of the run; -1: nobody measures it. Changes in look().
    int figures() const { return measurer_ ? measurer_->figures() : -1; }
    void hear_figures();

    /// Of a probe run: what the kernel says of its cgroups, by controller; nothing: it has been taken, or not yet seen.
    std::optional<json::object> take_cgroups() { return std::exchange(probed_, std::nullopt); }

    void kill(cause why);

    /// The next moment at which look() wants to be called.
    steady_time next_event() const { return std::min(deadline_, next_look_); }
    void look(steady_time now);

    /// Every process of it but its first, which is ending, has ended, so the report is complete. The kernel takes its
    /// time to clear the namespaces away; nobody needs to wait for that.
    bool over() const { return begun() && evidence_.status.has_value() && failure_.empty(); }
    bool reported() const { return phase_ == phase::reported; }
    ended_message report();

    /// Once pidfd() is readable: collects the child; nothing of the run is left then.
    ended_message finish();

private:
    enum class phase {
        planned,    ///< it has no process
        closes_in,  ///< its process confines itself, to stand by then
        stands_by,  ///< begin() lets it run
        runs,
        reported,
    };
    enum class program {
        executed,            ///< begins at once
        executed_when_told,  ///< these have stood by
        held,
        cloned,
    };

    void prepare(const run_request& request);
    void prepare_view();
    void prepare_workspace(int folder);
    void allow_only_removal();
    void give_pipes(std::initializer_list<int> pipes) const;
    void clone_child(void (*live)(jail_plan&));
    void launch_firejail();
    void wait_for_firejail();
    void begin_clock();
    void hear_inside(class wire_reader& message, std::vector<unique_fd>& descriptors);
    void hear_end(class wire_reader& message);
    void settle(pid_t process) const;
    void lower_priority(pid_t process) const;
    bool needs_measurer() const;
    void start_measurer();
    void look_at_groups();
    void judge_usage(const usage& used);
    void measure(steady_time now);

    shared_parts parts_;
    std::uint64_t id_ = 0;
    identities::lease identity_;
    id_pair outside_{};  ///< who it is outside
    run_limits limits_;
    phase phase_ = phase::planned;
    program program_ = program::executed;
    std::unique_ptr<jail_plan> plan_ = std::make_unique<jail_plan>();  ///< until it has a process
    std::string view_;                                                 ///< the place of its view
    std::pair<dev_t, ino_t> folder_{};                                 ///< of the workspace
    workspace_watch workspace_;
    run_cgroup cgroup_;
    unique_fd control_;
    cloned child_;
    std::optional<firejail_run> firejail_;
    bool probe_ = false;
    std::optional<json::object> probed_;
    usage_meter meter_;
    std::unique_ptr<measurer> measurer_;
    measured latest_;         ///< figures
    steady_time measured_{};  ///< when they came
    refusal_listener refusals_;
    steady_time begun_{};
    steady_time deadline_ = steady_time::max();
    steady_time next_look_ = steady_time::max();
    evidence evidence_;
    std::uint64_t peak_memory_ = 0;
    std::string failure_;  ///< of a step before the program; empty: none
    std::string detail_;   ///< names the exceeded limit
};

}  // namespace cmcp::sandbox
