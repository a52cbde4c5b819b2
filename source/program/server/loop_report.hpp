#pragma once

#include "async/loop_watch.hpp"
#include "log/bounded_log.hpp"

#include <cstddef>

namespace cmcp::command {

/// Watches the steps of the present thread's loop while the server serves, and tells of those that were too long: in
/// the log, in /metrics (cmcp_loop_longest_step_seconds, cmcp_loop_slow_steps_total), and as lines of JSON in the file
/// that the environment variable CMCP_STEP_RECORD names, which tests read. The last line has the longest step of all.
class loop_report {
public:
    loop_report();
    loop_report(const loop_report&) = delete;
    loop_report& operator=(const loop_report&) = delete;
    ~loop_report();

private:
    void tell(const step_figures& step);

    log::bounded_log told_;
    loop_watch watch_;
};

/// Opens the file for the lines, where it is there; before the server gives up reaching other files.
void open_step_record();

}  // namespace cmcp::command
