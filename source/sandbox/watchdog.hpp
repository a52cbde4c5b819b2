#pragma once

#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// What a run uses at one moment, all its processes together.
struct usage {
    std::uint64_t memory = 0;      ///< bytes, with the files in its memory file systems
    std::uint64_t processes = 0;   ///< processes and threads, without the reaper
};

/// Looks at the processes of one PID namespace from outside. Needs no cgroup and no privilege.
class usage_meter {
public:
    usage_meter() = default;

    /// `processes`: the namespace's own /proc, opened for reading; `temporary`, `shared`: its /tmp and /dev/shm (O_PATH).
    usage_meter(unique_fd processes, unique_fd temporary, unique_fd shared);

    /// Cheap first (resident pages, shared ones counted by everyone who maps them); only where that is above `limit`
    /// the exact proportional figures are read.
    usage measure(std::uint64_t limit);

    /// Bytes that all processes so far have written to files on disk, less what was thrown away before it got there; 0
    /// where the kernel does not count it.
    std::uint64_t written() const;

    explicit operator bool() const { return static_cast<bool>(processes_); }

private:
    std::uint64_t files_in_memory() const;
    std::uint64_t anonymous_files(const std::vector<std::string>& processes);

    unique_fd processes_;
    unique_fd temporary_;
    unique_fd shared_;
    std::uint64_t anonymous_files_ = 0;   ///< as last counted
    std::chrono::steady_clock::time_point count_again_{};
};

/// When to look again: soon where little is left (memory can be filled by some 4 GB a second), at most every 50 ms.
std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit);

}  // namespace cmcp::sandbox
