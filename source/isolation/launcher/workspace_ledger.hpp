#pragma once

#include "launcher/measurer.hpp"
#include "limits/tree_usage.hpp"
#include "wire/run_request.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cmcp::sandbox {

/// How full the workspaces are. A count costs as much as there are files, so one begins only when the file system has
/// lost more room since the last than a workspace may have gained; between counts a measurement is one system call.
class workspace_ledger {
public:
    using clock = std::chrono::steady_clock;
    using key = std::pair<dev_t, ino_t>;
    enum class finding { fits, too_large, too_many, too_deep };

    workspace_ledger();

    int readable() const { return poll_.get(); }  ///< readable when a count has ended; then collect()
    void collect();

    static key key_of(int folder);  ///< throws step_failed

    /// True while a run in this workspace has to wait: it was found full, and is being counted again, or its files are
    /// being put into a project, so that the kernel holds the bounds.
    bool must_wait(key which, int folder, tree_bounds most);

    /// The result of the last count; `fits` without one.
    finding last_finding(key which) const;
    std::uint64_t counted(key which) const;  ///< bytes; 0 without a count

    /// Begins a count when one is due, or `wanted`; returns the result of the latest count that began after
    /// `since`.
    finding measure(key which, int folder, tree_bounds most, clock::time_point since, bool wanted);

    /// The cell is over: the next one begins with the state that is known now.
    void note_end(key which, int folder, tree_bounds most);

    /// A run is over, and the cell may go on: what was found before may have changed.
    void note_run(key which, int folder, tree_bounds most);

    /// Free room of the file system.
    struct room {
        std::uint64_t bytes = 0;
        std::uint64_t files = 0;
    };
    static room free_room(int folder);

private:
    struct entry {
        std::unique_ptr<tree_count> counting;
        tree_bounds most{};  ///< of that count
        room then;           ///< free when the count began
        clock::time_point begun{};
        clock::time_point ended{};
        std::optional<tree_usage> last;
        finding state = finding::fits;  ///< as the last count says
        std::uint64_t order = 0;        ///< of use
        bool wanted = false;            ///< another count
        bool touched = false;           ///< a run ended after the count began
        std::uint32_t project = 0;      ///< into which that count puts the files
        bool no_project = false;        ///< a count could not do so
    };

    static std::uint64_t slack(const entry& of, tree_bounds most);
    bool is_due(const entry& of, int folder, tree_bounds most) const;
    static bool may_be_full(const entry& of, int folder, tree_bounds most);
    static bool is_old(const entry& of);
    static std::uint32_t wanted_project(const entry& of, int folder);
    void begin(entry& of, int folder, tree_bounds most, std::uint32_t project = 0);
    void finish(entry& of);
    entry& at(key which);
    void forget_oldest();

    unique_fd poll_;
    std::map<key, entry> entries_;
    std::uint64_t uses_ = 0;
};

/// The bounds that `limits` set; 0 there is no bound.
tree_bounds workspace_bounds(const run_limits& limits);

/// Whether `limits` bound what a workspace may hold.
bool bounds_workspace(const run_limits& limits);

/// Whether a run fills its workspace beyond what the workspace may hold. Counts are the ledger's; files that a count
/// cannot see (deleted but in use, moved about meanwhile) show as bytes that the run wrote and the disk
/// lost.
class workspace_watch {
public:
    explicit workspace_watch(workspace_ledger& ledger) : ledger_(ledger) {}

    /// `folder`: the workspace, O_PATH. Throws step_failed; does nothing where the size does not count.
    void open(int folder, const run_limits& limits);
    void begin();                          ///< the run begins
    void bound(const run_limits& limits);  ///< the kernel does, where it holds them

    /// The sentence for the caller of a run that a full workspace refused something; empty: it did not.
    std::string refusal(const run_limits& limits) const;

    /// The workspace held too much already. The run is not ended for files of others, but may only make room.
    bool began_full() const { return began_full_; }
    bool counts() const { return folder_ && !began_full_; }  ///< how much the run writes
    dev_t disk() const { return key_.first; }
    /// Whether a measurer is worth its process: the disk has lost room since the run began, or long enough ago that
    /// others may have made as much.
    bool may_have_grown(std::chrono::steady_clock::time_point begun) const;
    bool as_full_as_before() const;  ///< as it was when it was opened
    /// The sentence for which what began with room has to end, because the workspace is full now; empty: it is not.
    std::string became_full(const run_limits& limits) const;

    /// Empty: all is well. Otherwise the sentence for which the run has to end.
    std::string measure(const run_limits& limits, std::chrono::steady_clock::time_point begun, const measured& now);
    void note_end(const run_limits& limits);
    void note_run(const run_limits& limits);

    /// The bytes to which one file may grow, so that a single write does not pass the bounds before anybody looks.
    std::uint64_t largest_file(const run_limits& limits) const;

private:
    bool hides_files(const measured& now, tree_bounds most) const;

    workspace_ledger& ledger_;
    unique_fd folder_;  ///< none: its size does not count
    workspace_ledger::key key_{};
    workspace_ledger::room room_at_start_;
    bool began_full_ = false;
    std::uint32_t project_ = 0;  ///< in which the kernel holds the bounds; 0: it does not
    std::uint64_t written_at_count_ = 0;
};

}  // namespace cmcp::sandbox
