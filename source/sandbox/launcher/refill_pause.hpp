#pragma once

#include "run.hpp"

namespace cmcp::sandbox {

/// When runs are prepared in advance: once a processor is free, so that they take no time from those that somebody waits
/// for, but soon after all the same.
class refill_pause {
public:
    void run_began();
    void at_once() { at_ = std::chrono::steady_clock::now(); }
    void soon();
    steady_time next() const { return at_; }

    /// True once for each time that it becomes due. `busy`: every processor has a run.
    bool over(steady_time now, bool busy);

private:
    steady_time at_ = steady_time::max();
    steady_time latest_{};
};

}  // namespace cmcp::sandbox
