#pragma once

#include <cstdint>
#include <optional>

namespace cmcp::load {

/// CPU time, memory and descriptors of a process (proc(5): /proc/PID/task/*/schedstat, smaps_rollup, fd).
struct process_figures {
    double cpu_seconds = 0;       ///< user and system, of the threads that live
    std::uint64_t anonymous = 0;  ///< bytes of its own memory, without files and shared pages
    std::uint64_t resident = 0;   ///< bytes
    std::uint64_t descriptors = 0;
};

/// Returns nothing when the process does not exist or its files may not be read.
std::optional<process_figures> look_at_process(int pid);

}  // namespace cmcp::load
