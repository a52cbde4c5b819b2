#pragma once

#include "launcher/run.hpp"

namespace cmcp::sandbox {

/// When runs are prepared in advance: once no run is going on, so that they take no time from those that somebody waits
/// for (the kernel's locks are shared by all processors); where none is left, once a processor is free; and soon after
/// all the same.
class refill_pause {
public:
    void run_began();
    void at_once() { at_ = std::chrono::steady_clock::now(); }
    void soon();
    steady_time next() const { return at_; }

    /// True once for each time that it becomes due. `running`: the runs that go on; `none_left`: nothing waits for the
    /// next.
    bool over(steady_time now, std::size_t running, bool none_left);

private:
    steady_time at_ = steady_time::max();
    steady_time latest_{};
};

}  // namespace cmcp::sandbox
