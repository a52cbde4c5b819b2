#pragma once

#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <cstdint>
#include <string>

namespace cmcp::sandbox {

/// The cgroup v2 folder of one run. Removed with the object; all processes must have ended by then.
class run_cgroup {
public:
    run_cgroup() = default;
    run_cgroup(std::string path, const run_limits& limits);  ///< throws step_failed
    run_cgroup(run_cgroup&&) noexcept;
    run_cgroup& operator=(run_cgroup&&) noexcept;
    ~run_cgroup();

    explicit operator bool() const { return static_cast<bool>(folder_); }
    int folder() const { return folder_.get(); }  ///< for CLONE_INTO_CGROUP; -1: there is none

    void kill_all() const;
    bool out_of_memory() const;         ///< the kernel ended a process of it for want of memory
    bool out_of_processes() const;      ///< a fork was refused
    std::uint64_t peak_memory() const;  ///< bytes; 0 where the kernel does not tell

private:
    std::uint64_t event(const char* file, const char* name) const;

    std::string path_;
    unique_fd folder_;
};

/// The folder that the launcher makes for itself below the one it was started in, when that is v2, writable and has the
/// memory and pids controllers. Removed with the object.
class cgroup_parent {
public:
    explicit cgroup_parent(bool wanted);
    cgroup_parent(const cgroup_parent&) = delete;
    cgroup_parent& operator=(const cgroup_parent&) = delete;
    ~cgroup_parent();

    bool active() const { return !path_.empty(); }
    const std::string& reason() const { return reason_; }  ///< why it is not active
    run_cgroup make(std::uint64_t id, const run_limits& limits) const;

private:
    std::string path_;
    std::string reason_;
};

}  // namespace cmcp::sandbox
