#pragma once

#include "wire/run_result.hpp"

#include <optional>

namespace cmcp::sandbox {

/// The evidence about the end of a run.
struct evidence {
    std::optional<int> status;        ///< wait status of the program; nothing: it was killed with everything else
    std::optional<cause> killed_for;  ///< why the launcher killed the run
    bool out_of_memory = false;       ///< the kernel says so
    bool out_of_processes = false;    ///< the limit of processes was reached, as far as that is known
    std::chrono::microseconds cpu{0};
    std::chrono::seconds cpu_limit{0};
};

/// Sets why, exit_code and signal of `result` from the evidence.
void judge(const evidence& known, run_result& result);

}  // namespace cmcp::sandbox
