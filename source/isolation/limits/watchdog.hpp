#pragma once

#include "posix/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// The usage of a run at one moment, all its processes together.
struct usage {
    std::uint64_t memory = 0;     ///< bytes, with its files in memory and the bytes in its sockets
    std::uint64_t processes = 0;  ///< processes and threads, without the reaper
};

/// The files in which the usage of a PID namespace shows from outside.
struct usage_sources {
    unique_fd processes;  ///< its own /proc, opened for reading
    unique_fd temporary;  ///< /tmp (O_PATH)
    unique_fd shared;     ///< /dev/shm (O_PATH)
    unique_fd sockets;    ///< from open_socket_statistics() in its network namespace, or none

    std::vector<int> descriptors() const;  ///< for a message; empty without `processes`
    static usage_sources from(std::span<unique_fd> descriptors);
};

/// Looks at the processes of one PID namespace from outside. Needs no cgroup and no privilege.
class usage_meter {
public:
    usage_meter() = default;

    /// `helper`: number of a process there that belongs to the sandbox as the first one does; 0: none.
    explicit usage_meter(usage_sources sources, int helper = 0)
        : sources_(std::move(sources)), helper_(std::to_string(helper))
    {
    }

    /// Cheap first (resident pages, shared ones counted by everyone who maps them); only where that is above `limit` or
    /// would raise the peak the exact proportional figures are read.
    usage measure(std::uint64_t limit);

    std::size_t processes(std::span<const int> without) const;  ///< now, without the first one and these

    /// Bytes that all processes so far have written to files on disk, less what was thrown away before it got there; 0
    /// where the kernel does not count it.
    std::uint64_t written() const;

    /// Processor time of all processes so far, with those that have ended.
    std::chrono::microseconds processor_time() const;

    /// Bytes of memory that processes share without a file, as much as is mapped of it. Slow.
    std::uint64_t shared() const;

    bool has_files() const;  ///< in memory: of /tmp and /dev/shm, empty ones and folders too

    /// Bytes of files on `device` that have no name any more but are in use. Slow.
    std::uint64_t deleted(dev_t device) const;

    /// Measures, and where that is above `limit` ends the largest processes until an eighth of it is free. Returns
    /// whether it did.
    bool end_largest(std::uint64_t limit);

    std::vector<int> descriptors() const { return sources_.descriptors(); }

    explicit operator bool() const { return static_cast<bool>(sources_.processes); }

private:
    std::uint64_t files_in_memory() const;
    std::uint64_t in_sockets();
    bool is_near_enough(std::uint64_t memory, std::size_t processes, std::uint64_t limit) const;

    usage_sources sources_;
    std::string helper_;
    std::uint64_t most_ = 0;        ///< bytes, of all exact figures so far
    std::uint64_t in_sockets_ = 0;  ///< as last counted
    std::chrono::steady_clock::time_point count_again_{};
};

/// When to look again: soon where little is left (memory can be filled by some 4 GB a second), at most every 50 ms.
std::chrono::milliseconds next_look(std::uint64_t used, std::uint64_t limit);

}  // namespace cmcp::sandbox
