#pragma once

#include "jail/watchdog.hpp"
#include "posix/unique_fd.hpp"

#include <cstdint>

namespace cmcp::browser_host {

/// Ends the largest processes of the browser when all together pass a limit, as many as it takes: mostly the page that
/// is to blame, so that the others go on.
class memory_watch {
public:
    memory_watch() = default;
    memory_watch(unique_fd processes, unique_fd temporary, unique_fd shared, std::uint64_t limit);

    bool look();                            ///< true: the limit was passed, something was ended
    int milliseconds_to_next_look() const;  ///< -1: there is nothing to look at

private:
    void end_largest(std::uint64_t bytes) const;

    unique_fd processes_;
    sandbox::usage_meter meter_;
    std::uint64_t limit_ = 0;
    std::uint64_t used_ = 0;
};

}  // namespace cmcp::browser_host
