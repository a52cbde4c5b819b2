#pragma once

#include "jail/cgroup_place.hpp"
#include "jsonrpc/json.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A folder in each hierarchy that is used. Removed with the object; every process in it must have ended by then.
class cgroup_folders {
public:
    cgroup_folders() = default;
    /// Makes `name` below each of `parents`. Throws step_failed.
    cgroup_folders(const std::vector<cgroup_place>& parents, const std::string& name);
    cgroup_folders(cgroup_folders&& other) noexcept : all_(std::exchange(other.all_, {})) {}
    cgroup_folders& operator=(cgroup_folders&& other) noexcept;
    ~cgroup_folders();

    void add(cgroup_folders other);
    const std::vector<cgroup_place>& all() const { return all_; }
    const cgroup_place* of(std::string_view controller) const;  ///< null where no hierarchy has it

private:
    std::vector<cgroup_place> all_;
};

/// The group of one run, below that of its caller. Removed with the object; all processes must have ended by then.
class run_cgroup {
public:
    run_cgroup() = default;
    /// `helpers`: processes of the sandbox that count beside those of the run. Throws step_failed.
    run_cgroup(std::shared_ptr<const cgroup_folders> caller, const std::string& name, const run_limits& limits,
               std::uint64_t helpers);

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

    void kill_all() const;
    bool out_of_memory() const;           ///< the kernel ended a process of it for want of memory
    std::uint64_t refused_forks() const;  ///< so far
    bool at_process_limit() const;        ///< the next fork will be refused
    std::uint64_t memory() const;         ///< bytes now
    std::uint64_t peak_memory() const;    ///< bytes; 0 where the kernel does not tell

private:
    bool is_in_force(const cgroup_place& place, std::string_view controller, const run_limits& limits) const;

    std::shared_ptr<const cgroup_folders> caller_;
    cgroup_folders folders_;
    unique_fd folder_;
    std::uint64_t most_processes_ = 0;
};

/// The groups of a launcher: below each group that the launcher was started in and may divide, in v2 and in each
/// hierarchy of v1, one of its own, in that one for each caller with equal shares of the processors and three quarters
/// of what the launcher's place may have, and in those the runs'. Removed with the object.
class cgroup_tree {
public:
    explicit cgroup_tree(bool wanted);

    bool holds(std::string_view controller) const { return own_.of(controller) != nullptr; }
    std::string lacking(std::string_view controller) const;  ///< why it holds no run; empty: it does
    /// `number`: no other run has it.
    run_cgroup make(unsigned number, const std::string& caller, const run_limits& limits, std::uint64_t helpers);

private:
    struct caller_groups {
        unsigned number;
        std::weak_ptr<const cgroup_folders> folders;
    };

    void add(const cgroup_place& place);
    std::shared_ptr<const cgroup_folders> of_caller(const std::string& caller);
    unsigned free_number() const;

    std::map<std::string, std::string, std::less<>> lacking_;
    cgroup_folders own_;
    std::map<std::string, caller_groups> callers_;  ///< those with runs
};

}  // namespace cmcp::sandbox
