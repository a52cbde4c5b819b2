#pragma once

#include "facilities/identities.hpp"
#include "firejail/firejail.hpp"
#include "jail/jail.hpp"
#include "jail/local_call.hpp"
#include "jail/seccomp_filter.hpp"
#include "jsonrpc/json.hpp"
#include "launcher/cgroup_tree.hpp"
#include "launcher/measurer.hpp"
#include "launcher/view_store.hpp"
#include "launcher/workspace_ledger.hpp"
#include "launcher/workspace_root.hpp"
#include "limits/watchdog.hpp"
#include "wire/launcher_options.hpp"
#include "wire/run_result.hpp"

#include <chrono>
#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

using steady_time = std::chrono::steady_clock::time_point;

/// Parts of the launcher that all its cells share.
struct shared_parts {
    identities& ids;
    view_store* views;           ///< none under Firejail
    const workspace_root& root;  ///< of workspaces
    workspace_ledger& workspaces;
    cgroup_tree& cgroups;
    killed_processes& measurers;  ///< of cells that are over
    const call_filters& filters;
    bool with_time_namespace;
    bool with_apparmor;
    firejail* jailer;  ///< none: the launcher makes namespaces and mounts itself
    int held_library;  ///< held_library(); -1: no shell is held
    machines_allowed machines;
};

/// The surroundings of a program, seen from the launcher: a user, namespaces, a root, a workspace, limits, and the
/// first process, whose end is the end of all others.
class cell {
public:
    /// Of this shape, without a process. `lasts`: it serves one program after the other. Throws step_failed.
    cell(const shared_parts& parts, const run_request& request, bool probe, bool lasts);
    cell(const cell&) = delete;
    cell& operator=(const cell&) = delete;
    ~cell();  ///< ends it

    jail_plan& plan() { return *plan_; }  ///< as long as it has no process
    const jail_plan& plan() const { return *plan_; }

    void launch();  ///< clones the first process, or Firejail's; throws step_failed, then nothing runs
    std::vector<int> clone_descriptors() const;  ///< for the order of a clone to a zygote
    void attach(cloned child);                   ///< the clone lives as a guest; throws, then the cell must be ended

    int pidfd() const { return child_.pidfd.get(); }  ///< of the first process; -1: it has none
    int control() const { return control_.get(); }    ///< the socket to the first process

    bool has_view_of(const run_request& request) const;       ///< as a new cell would have it
    bool has_workspace_of(const run_request& request) const;  ///< still that folder
    bool began_full() const { return workspace_.began_full(); }
    bool has_files_in_memory() const { return !meter_ || meter_.has_files(); }  ///< true where that is not known
    bool is_as_full_as_before() const { return workspace_.as_full_as_before(); }
    void give_pipes(std::initializer_list<int> pipes) const;  ///< -1: none. Throws step_failed
    void begin(const run_limits& limits);  ///< a program begins; the workspace's limits are the latest ones
    void note_run();                       ///< it has ended

    /// Lowers the size of files to what the workspace has left.
    void bound_files(run_limits& limits) const;

    /// The sentence for a run that was ended for the size of a file by limits so bounded; empty: they were not.
    std::string explain_file_size(const run_limits& limits) const;

    std::uint64_t number() const { return number_; }               ///< grows from cell to cell, also over launchers
    void stand_in_for(std::uint64_t number) { number_ = number; }  ///< of a cell in which nothing was lost
    void rest();  ///< until then nobody looks: nothing can change in it

    void hear_ready(std::span<unique_fd> descriptors);            ///< child_says::ready has come
    void hear_standby(standby_processes now) { standby_ = now; }  ///< the programs that stand by are these
    void hear_inside(int helper, unique_fd first);                ///< child_says::inside has come

    /// The descriptor to watch for figures; -1: nobody measures it. Changes in tick().
    int figures() const { return measurer_ ? measurer_->figures() : -1; }
    void hear_figures();

    /// Of a probe: what the kernel says of its cgroups, by controller; nothing: it has been taken, or not yet seen.
    std::optional<json::object> take_cgroups() { return std::exchange(probed_, std::nullopt); }

    /// Whether the largest processes of a browser were ended since the last call.
    bool take_ended_largest() { return std::exchange(ended_largest_, false); }

    steady_time next_event() const { return next_tick_; }  ///< when tick() wants to be called
    void tick(steady_time now);
    void end_if_full();  ///< where its workspace had room when the cell began, and has none now

    bool lasts() const { return lasts_; }
    bool makes_sockets() const { return !firejail_ && !browses_ && !machine_; }  ///< in its first process
    void carry_out(std::uint32_t program, const local_call& call) const;  ///< of the program; 0: one that has ended
    void kill_program(std::uint32_t number);                              ///< of a cell that lasts, with its session
    void hold(bool on);  ///< of a cell that lasts: its processes stand still, or go on

    // The first process may be busy, and its socket full.
    bool has_room() const;                                ///< for the orders of a start
    bool has_orders() const { return !orders_.empty(); }  ///< for which there was no room
    void send_orders();                                   ///< as far as there is room
    bool wants_room = false;                              ///< the socket is watched for it

    void kill(cause why);
    std::optional<cause> killed_for() const { return killed_for_; }
    const std::string& detail() const { return detail_; }  ///< names the exceeded limit

    void give_up(std::string why);  ///< kills, with this sentence as detail()

    /// Once pidfd() is readable: collects the first process; nothing of the cell is left then. Where Firejail did not
    /// get as far as that process, its complaint; `hear` takes messages and is false after the last.
    std::string finish(const std::function<bool()>& hear);

    struct figures_at_end {
        std::chrono::microseconds cpu{0};  ///< as far as the cell knows better than its programs' own ends tell
        std::uint64_t peak_memory = 0;     ///< bytes
        bool out_of_memory = false;
        std::string refused;  ///< by a full workspace
    };
    figures_at_end current_figures() const;

    std::uint64_t refused_forks() const { return refused_forks_ + cgroup_.refused_forks(); }  ///< as far as known

    std::size_t processes() const { return meter_.processes(standby_); }  ///< now, without the sandbox's own
    std::uint64_t memory() const;                                         ///< bytes now
    std::chrono::microseconds cpu_time() const { return meter_.processor_time(); }

private:
    void give_order(std::string order);
    void prepare(const run_request& request, bool probe);
    void choose_filters();
    void prepare_view();
    void begin_machine();
    void prepare_workspace(int folder);
    void prepare_machine(int folder);
    void write_ids() const;
    void allow_only_removal();
    void clone_first_process();
    void launch_firejail();
    std::string wait_for_firejail(const std::function<bool()>& hear);
    void settle(pid_t process) const;
    void lower_priority(pid_t process) const;
    bool needs_measurer() const;
    void start_measurer();
    void look_at_groups();
    void limit_memory(std::uint64_t bytes);
    void judge_usage(const usage& used);

    shared_parts parts_;
    identities::lease identity_;
    id_pair outside_{};  ///< who it is outside
    run_limits limits_;
    std::unique_ptr<jail_plan> plan_ = std::make_unique<jail_plan>();  ///< until it has a process
    std::string view_;                                                 ///< the mount point of its view
    std::pair<dev_t, ino_t> folder_{};                                 ///< of the workspace
    workspace_watch workspace_;
    run_cgroup cgroup_;
    unique_fd control_;
    cloned child_;
    std::optional<firejail_run> firejail_;
    bool probe_ = false;
    bool lasts_;
    bool machine_;
    std::vector<id_range> machine_ids_;  ///< of its user namespace
    bool widens_;                        ///< its memory is for as many runs as it has
    std::uint64_t narrowest_memory_;     ///< its limit when it rests
    std::size_t runs_ = 0;               ///< that go on in it
    bool browses_;                       ///< its limit of memory ends its largest processes
    bool ended_largest_ = false;         ///< and did
    bool kernel_ended_ = false;          ///< the kernel was the first, once
    std::uint64_t number_ = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    std::uint64_t beside_limit_ = 0;  ///< processes of a lasting cell that stand by
    standby_processes standby_{};     ///< the numbers of those that do now; 0: none
    std::optional<json::object> probed_;
    usage_meter meter_;
    std::unique_ptr<measurer> measurer_;
    bool measures_anew_ = false;      ///< its limit is another now
    std::deque<std::string> orders_;  ///< that wait for room
    measured latest_;                 ///< figures
    steady_time measured_{};          ///< when they came
    steady_time begun_{};
    steady_time next_tick_ = steady_time::max();
    std::optional<cause> killed_for_;
    std::chrono::microseconds cpu_{0};
    std::uint64_t peak_memory_ = 0;
    std::uint64_t refused_forks_ = 0;  ///< looks that found the limit of processes reached
    std::string detail_;
};

}  // namespace cmcp::sandbox
