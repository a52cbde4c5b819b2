#pragma once

#include "jail/refusal_listener.hpp"
#include "jail/run_cause.hpp"
#include "launcher/cell.hpp"
#include "launcher/program.hpp"
#include "wire/launcher_protocol.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// The processes that go on in a lasting cell after the end of the run that began them. Their calls are answered as
/// before, but nobody hears of them. Without answers they would fail with ENOSYS, connect() too.
class left_program {
public:
    left_program(std::shared_ptr<cell> in, refusal_listener calls) : cell_(std::move(in)), calls_(std::move(calls)) {}

    const cell& in() const { return *cell_; }
    int calls() const { return calls_.readable(); }  ///< the descriptor to watch; -1: none before the next look
    void hear_call();
    bool lives() { return calls_.has_callers(); }

    steady_time next_event() const { return next_tick_; }  ///< when tick() wants to be called
    void tick();

private:
    std::shared_ptr<cell> cell_;
    refusal_listener calls_;
    steady_time next_tick_ = steady_time::max();
};

/// A program in a cell that has got its start, seen from the launcher, until it is reported.
class run {
public:
    /// `begun`: program::begin() was true. `loaded`: as what the first process has loaded.
    run(std::shared_ptr<cell> in, program begun, const start_message& start, bool loaded);

    cell& in() { return *cell_; }
    const cell& in() const { return *cell_; }
    std::uint32_t number() const { return program_.number(); }  ///< in the cell
    std::uint64_t id() const { return id_; }                    ///< the server's number

    // The descriptors to watch; -1: none, none yet, or none any more. Any call may change them.
    int said() const { return program_.awaited(); }
    int refusals() const { return refusals_.readable(); }

    void hear();
    void hear_refusal();
    void hear_refused(std::string what) { refusals_.note(std::move(what)); }  ///< by the cell's first process
    void hear_end(const program_end& end);
    void fail(const std::string& why);  ///< no program came about, or the cell has ended, why where that is known

    void kill(cause why);

    steady_time next_event() const { return std::min(deadline_, next_tick_); }  ///< when tick() wants to be called
    void tick(steady_time now);

    ended_message report();  ///< once it has heard of an end

    /// After report(): processes that the program has left behind in a lasting cell, as far as their calls wait for
    /// answers. Nothing: there are none.
    std::optional<left_program> take_left();

private:
    void judge_into(run_result& result);
    void take_listener();

    std::shared_ptr<cell> cell_;
    program program_;
    bool loaded_;
    std::uint64_t id_;
    std::uint64_t processes_;           ///< the limit
    std::string file_size_problem_;     ///< if its limit ends the run
    std::vector<std::uint16_t> doors_;  ///< of the cell's network
    refusal_listener refusals_;
    steady_time begun_ = std::chrono::steady_clock::now();
    steady_time deadline_;
    steady_time next_tick_;
    std::optional<cause> killed_for_;  ///< in a lasting cell
    left_processes left_;
    std::uint64_t refused_forks_;  ///< in the cell before it began
    evidence evidence_;
    std::uint64_t peak_memory_ = 0;
    std::string failure_;  ///< of a step before the program; empty: none
};

}  // namespace cmcp::sandbox
