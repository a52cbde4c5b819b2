#pragma once

#include "jail/call_filters.hpp"
#include "jail/cgroup.hpp"
#include "jail/identities.hpp"
#include "jail/verdict.hpp"
#include "jail/watchdog.hpp"
#include "launcher/firejail.hpp"
#include "launcher/refusal_notes.hpp"
#include "launcher/view_store.hpp"
#include "launcher/workspace_watch.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

namespace cmcp::sandbox {

using steady_time = std::chrono::steady_clock::time_point;

/// What all runs share.
struct workshop {
    identities& ids;
    view_store* views;  ///< none under Firejail
    workspace_ledger& workspaces;
    const cgroup_parent& cgroups;
    const call_filters& filters;
    bool with_time_namespace;
    bool with_apparmor;
    firejail* jailer;  ///< none: the launcher makes namespaces and mounts itself
};

/// One run in flight, seen from the launcher.
class run {
public:
    /// Clones the child and lets it go. Throws step_failed; then nothing runs.
    run(workshop& shop, start_message start, std::vector<unique_fd> descriptors);

    /// A run of `shape` that waits, confined, for what to run; a zygote is asked to clone for it, or launch_waiting()
    /// is called. Until it begins it has the id `key`. Throws step_failed.
    run(workshop& shop, std::uint64_t key, const run_request& shape, bool probe);
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run();

    std::uint64_t id() const { return id_; }
    int pidfd() const { return child_.pidfd.get(); }
    int control() const { return control_.get(); }

    std::vector<int> clone_descriptors() const;  ///< what goes with the clone order
    void attach(cloned child);                   ///< the clone is there; throws, then it must be ended
    /// Makes a clone of this process, whose program is held by `library` where there is one (not -1: held_program.hpp).
    /// Throws step_failed, then nothing runs.
    void launch_waiting(workshop& shop, int library);
    bool waits() const { return waits_; }  ///< it is ready to begin
    bool begun() const { return has_begun_; }
    bool fits(const run_request& request)
        const;  ///< its workspace is still that folder, and as full; it sees what a new run would see
    void begin(const start_message& start, const std::vector<unique_fd>& descriptors);  ///< throws: it has not begun
    const std::string& failure() const { return failure_; }

    /// Reads what the child says. False: it will say no more.
    bool hear();

    /// The descriptor to watch for refused calls; -1: none yet, none any more, or too many came at once. Changes in
    /// hear(), hear_refusal() and look().
    int refusals() const { return refusals_.readable(); }
    void hear_refusal();

    void kill(cause why);

    /// The next moment at which look() wants to be called.
    steady_time next_event() const { return std::min(deadline_, next_look_); }
    void look(steady_time now);

    /// Every process of it but its first, which is ending, has ended: what there is to say is known. The kernel takes
    /// its time to clear the namespaces away; nobody needs to wait for that.
    bool over() const { return found_.status.has_value() && !failed_; }
    bool reported() const { return reported_; }
    ended_message report();

    /// Once pidfd() is readable: collects the child; nothing of the run is left then.
    ended_message finish();

private:
    void prepare(workshop& shop, struct jail_plan& plan);
    void begin_clock();
    void give_pipes(std::initializer_list<int> pipes, id_pair outside) const;
    void prepare_workspace(workshop& shop, struct jail_plan& plan);
    void prepare_view(workshop& shop, struct jail_plan& plan);
    void launch(workshop& shop, struct jail_plan& plan, void (*live)(struct jail_plan&));
    void launch_firejail(workshop& shop, struct jail_plan& plan);
    void wait_for_firejail();
    void hear_inside(class wire_reader& message, std::vector<unique_fd>& descriptors);
    void measure(steady_time now);
    void hear_end(class wire_reader& message);
    void allow_only_removal(struct jail_plan& plan) const;

    identities& ids_;
    std::uint64_t id_;
    unsigned number_;
    run_limits limits_;
    run_cgroup cgroup_;
    cloned child_;
    unique_fd control_;
    unique_fd messages_;  ///< what Firejail prints; none: a run without it
    unique_fd first_;     ///< under Firejail: pidfd of the first process of its PID namespace
    std::string profile_;
    int helper_ = 0;  ///< under Firejail: the number of live_inside() in there
    usage_meter meter_;
    refusal_notes refusals_;
    workspace_watch workspace_;
    steady_time begun_;
    steady_time deadline_;
    steady_time next_look_;
    evidence found_;
    bool failed_ = false;
    std::string failure_;
    std::string detail_;
    std::unique_ptr<struct jail_plan> plan_;  ///< until there is a clone
    std::pair<dev_t, ino_t> place_{};         ///< of the workspace
    view_store* views_ = nullptr;
    std::string view_;  ///< the place of what it sees
    id_pair outside_{};
    bool prepared_ = false;
    bool held_ = false;
    bool waits_ = false;
    bool waited_ = false;
    bool has_begun_ = false;
    bool reported_ = false;
    std::chrono::microseconds cpu_{0};
    std::uint64_t peak_memory_ = 0;
    bool reached_process_limit_ = false;
};

}  // namespace cmcp::sandbox
