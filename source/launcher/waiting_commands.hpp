#pragma once

#include "launcher/refill_pause.hpp"
#include "launcher/waiting_runs.hpp"

#include <cstddef>

namespace cmcp::sandbox {

/// Runs whose namespaces, mounts, limits and filters are there before anyone asks for them: for the kind of run that
/// came last, some wait with nothing left to do but to execute their program, or, where it is a shell, to enter its
/// main().
class waiting_commands {
public:
    static constexpr std::uint64_t first_key = 1ull << 59;  ///< of runs that have no id yet

    /// `each`: how many wait for one kind of run; 0: none ever do.
    waiting_commands(run_keeper& keeper, std::size_t each);

    /// Hands the run over to one that waits (true), or leaves it as it is for a cold start.
    bool take(const start_message& start, const std::vector<unique_fd>& descriptors);

    void heard_of(std::uint64_t key) { children_.heard_of(key); }
    void lost(std::uint64_t key);  ///< it ended before it began

    steady_time next_event() const { return refill_.next(); }
    void look(steady_time now, std::size_t running);

private:
    bool make();
    int library();

    run_keeper& keeper_;
    std::size_t each_;
    waiting_runs children_;
    std::string wanted_shape_;  ///< of the run that came last
    run_request wanted_;
    std::uint64_t last_key_ = first_key;
    refill_pause refill_;
    unique_fd library_;
    bool may_hold_ = true;  ///< until a program could not be held
};

}  // namespace cmcp::sandbox
