#pragma once

#include "launcher/live_cell.hpp"
#include "launcher/loaded_interpreter.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cmcp::sandbox {

class launcher;

/// When the pool is refilled. Best is a time without a run that goes on, because the kernel's locks are shared by all
/// processors. Without any ready cell a free processor is enough, and the pause is never long.
class refill_pause {
public:
    void run_began();
    steady_time next() const { return at_; }

    /// True once for each time that the refill becomes due. `running`: the runs that go on; `none_left`: no cell is
    /// ready for the next start.
    bool over(steady_time now, std::size_t running, bool none_left);

private:
    steady_time at_ = steady_time::max();
    steady_time latest_{};
};

/// Cells that serve one run and are nobody's yet: each has a program that stands by, confined before anyone asks for
/// it. Each belongs to one shape of run (workspace, view, limits, program), and so to one caller, from its beginning
/// on. Some are ready for the shape that came last, of each kind of first process.
class ready_cells {
public:
    /// `each`: how many are ready for one shape, with the launcher's clone as the first process.
    ready_cells(launcher& keeper, std::size_t each) : keeper_(keeper), each_(each) {}

    /// The key of a cell for this start, which is the start's own from then on, or of none. `by`: whose clone the
    /// first process is to be; null: the launcher's.
    std::optional<std::uint64_t> take(const start_message& start, loaded_interpreter* by);

    /// The cell ends. `why`: what prevented it from being ready, as far as that is known.
    void lose(std::uint64_t key, const std::string& why);

    steady_time next_event() const { return refill_.next(); }
    void tick(steady_time now, std::size_t running);  ///< `running`: the runs that go on

private:
    struct ready {
        std::uint64_t key;
        loaded_interpreter* by;
        std::string shape;
    };
    struct wanted {
        std::string shape;
        start_message start;
    };

    bool is_usable(std::uint64_t key, const run_request& request) const;
    std::size_t count(const std::string& shape) const;
    std::size_t most(const loaded_interpreter* by) const { return by ? by->waiting() : each_; }
    bool make(const wanted& what, loaded_interpreter* by);
    void refill(loaded_interpreter* by);
    void trim(loaded_interpreter* by);

    launcher& keeper_;
    std::size_t each_;
    bool may_hold_ = true;  ///< until a shell could not be held
    refill_pause refill_;
    std::vector<ready> cells_;                      ///< the oldest first
    std::map<loaded_interpreter*, wanted> wanted_;  ///< the shape of the run that came last
};

}  // namespace cmcp::sandbox
