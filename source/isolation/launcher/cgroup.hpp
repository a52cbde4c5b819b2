#pragma once

#include "jsonrpc/json.hpp"
#include "launcher/cgroup_folders.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cmcp::sandbox {

/// The group of one run, below that of its caller. Removed with the object; all processes must have ended by then.
class run_cgroup {
public:
    run_cgroup() = default;
    /// `helpers`: processes of the sandbox that count beside those of the run. `survives`: others end the run's largest
    /// processes for want of memory; the kernel ends one by one, and only where they come too late. Throws step_failed.
    run_cgroup(std::shared_ptr<const cgroup_folders> caller, const std::string& name, const run_limits& limits,
               std::uint64_t helpers, bool survives);

    bool holds(std::string_view controller) const { return folders_.of(controller) != nullptr; }
    int folder() const;  ///< of v2, for CLONE_INTO_CGROUP; -1: there is none

    /// Puts `process` into the groups of v1, before it has made another; 0: the caller. Throws step_failed.
    void take(pid_t process) const;
    /// The same into the groups of the run's caller, for a process that works for the run.
    void take_beside(pid_t process) const;

    const std::shared_ptr<const cgroup_folders>& caller() const { return caller_; }

    /// The kernel's word on `process`, which has been put here: for each controller "cgroup v1" or "cgroup v2" where
    /// it is in force, or a sentence that says what is not as it should be.
    json::object look_at(pid_t process, const run_limits& limits) const;

    void bound_memory(std::uint64_t bytes) const;  ///< from now on; where that cannot be, the limit stays
    void kill_all() const;
    bool out_of_memory() const;                  ///< the kernel ended a process of it for want of memory
    std::uint64_t refused_forks() const;         ///< so far
    bool at_process_limit() const;               ///< the next fork will be refused
    std::uint64_t memory() const;                ///< bytes now
    std::uint64_t memory_without_cache() const;  ///< bytes that the kernel cannot have back by forgetting files
    std::uint64_t peak_memory() const;           ///< bytes; 0 where the kernel does not tell

private:
    bool is_in_force(const cgroup_path& group, std::string_view controller, const run_limits& limits) const;

    std::shared_ptr<const cgroup_folders> caller_;
    cgroup_folders folders_;
    unique_fd folder_;
    std::uint64_t most_processes_ = 0;
};

}  // namespace cmcp::sandbox
