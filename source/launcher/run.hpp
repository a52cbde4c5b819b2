#pragma once

#include "jail/refusal_listener.hpp"
#include "jail/verdict.hpp"
#include "launcher/cell.hpp"
#include "wire/launcher_protocol.hpp"
#include "wire/packet_socket.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// A program in a cell, seen from the launcher: it stands by or begins at once, and is reported. The cell is the run's
/// own and ends with it, or a lasting one that the run joins.
class run {
public:
    /// In a cell of its own of this shape, without a process: launch(), launch_standby() or attach() gives it one.
    /// Throws step_failed.
    run(const shared_parts& parts, const run_request& request, bool probe);

    /// In a lasting cell, in which it begins at once; `loaded`: as a clone of the program that the first process has
    /// loaded. Throws step_failed.
    run(std::shared_ptr<cell> joined, const start_message& start, const std::vector<unique_fd>& descriptors,
        bool loaded);

    /// Clones a process that begins at once. Throws step_failed, then nothing runs.
    void launch(const start_message& start, std::vector<unique_fd> descriptors);

    /// Clones a process that stands by, its program held by `library` where there is one (not -1: held_program.hpp).
    /// Throws step_failed, then nothing runs.
    void launch_standby(int library);
    void attach(cloned child);  ///< the clone will stand by; throws, then the run must be ended

    cell& in() { return *cell_; }
    const cell& in() const { return *cell_; }
    bool joins(const cell& other) const { return own_control_ && cell_.get() == &other; }

    // The descriptors to watch; -1: none. Those of a lasting cell are watched once for all its runs.
    int first_process() const { return own_control_ ? -1 : cell_->pidfd(); }
    int control() const { return own_control_ ? own_control_.get() : cell_->control(); }
    int figures() const { return own_control_ ? -1 : cell_->figures(); }
    std::uint64_t id() const { return id_; }  ///< the server's number; 0: it has not begun

    bool stands_by() const { return phase_ == phase::stands_by; }
    void begin(const start_message& start, const std::vector<unique_fd>& descriptors);  ///< throws: it has not begun
    bool begun() const { return phase_ >= phase::runs; }
    const std::string& failure() const { return failure_; }

    /// Reads the child's messages. False: it will send no more.
    bool hear();
    void lose_cell(const std::string& why);  ///< the lasting cell has ended. `why`: before its first run

    /// The descriptor to watch for refused calls; -1: none yet, none any more, or too many came at once. Changes in
    /// hear(), hear_refusal() and look().
    int refusals() const { return refusals_.readable(); }
    void hear_refusal();

    void kill(cause why);

    /// The next moment at which look() wants to be called.
    steady_time next_event() const { return std::min(deadline_, own_control_ ? next_look_ : cell_->next_event()); }
    void look(steady_time now);

    /// Every process of it but its first, which is ending, has ended, so the report is complete. The kernel takes its
    /// time to clear the namespaces away; nobody needs to wait for that.
    bool over() const;
    bool reported() const { return phase_ == phase::reported; }
    ended_message report();

    /// Once the first process has ended: collects it; nothing of the run is left then.
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

    void look_at_joined(steady_time now);
    void hand_over(const std::string& message, const start_message& start, const std::vector<unique_fd>& descriptors,
                   std::vector<int> before);
    void begin_clock(const start_message& start);
    void hear(child_says says, class wire_reader& message, std::vector<unique_fd>& descriptors);
    void hear_end(class wire_reader& message);
    void hear_failure(class wire_reader& message);
    void judge_into(run_result& result);

    std::shared_ptr<cell> cell_;
    unique_fd own_control_;  ///< of a run in a lasting cell
    std::uint64_t id_ = 0;
    std::uint64_t processes_;  ///< the limit
    phase phase_ = phase::planned;
    program program_ = program::executed;
    refusal_listener refusals_;
    steady_time begun_{};
    steady_time deadline_ = steady_time::max();
    steady_time next_look_ = steady_time::max();  ///< in a lasting cell
    std::optional<cause> killed_for_;             ///< there
    left_processes left_;
    bool ended_ = false;               ///< there: nothing more comes
    std::uint64_t refused_forks_ = 0;  ///< in the cell before it began
    evidence evidence_;
    std::uint64_t peak_memory_ = 0;
    std::string failure_;  ///< of a step before the program; empty: none
};

}  // namespace cmcp::sandbox
