#pragma once

#include "limits/cgroup_path.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A folder in each hierarchy that is used. Removed with the object; every process in it must have ended by then.
class cgroup_folders {
public:
    /// A file of a controller by its names in cgroup v2 and v1; nullptr: that version has none.
    struct control_file {
        std::string_view controller;
        const char* unified;
        const char* first;
        const char* name_in(const cgroup_path& group) const { return group.unified ? unified : first; }
    };

    cgroup_folders() = default;
    /// Makes `name` below each of `parents`. Throws step_failed.
    cgroup_folders(const std::vector<cgroup_path>& parents, const std::string& name);
    cgroup_folders(cgroup_folders&& other) noexcept : all_(std::exchange(other.all_, {})) {}
    cgroup_folders& operator=(cgroup_folders&& other) noexcept;
    ~cgroup_folders();

    void add(cgroup_folders other);
    const std::vector<cgroup_path>& all() const { return all_; }
    const cgroup_path* of(std::string_view controller) const;  ///< null where no hierarchy has it

    bool set(const control_file& file, std::uint64_t value) const;       ///< true, too, where no group has such a file
    void must_set(const control_file& file, std::uint64_t value) const;  ///< throws step_failed
    std::uint64_t figure(const control_file& file) const;                ///< 0 where no group has such a file
    std::uint64_t events(const control_file& file, const std::string& event) const;

private:
    std::filesystem::path path_of(const control_file& file) const;

    std::vector<cgroup_path> all_;
};

/// Files that bound both a run and its caller.
inline constexpr cgroup_folders::control_file memory_limit{"memory", "memory.max", "memory.limit_in_bytes"};
inline constexpr cgroup_folders::control_file process_limit{"pids", "pids.max", "pids.max"};
inline constexpr cgroup_folders::control_file processor_share{"cpu", "cpu.weight", "cpu.shares"};
inline constexpr std::uint64_t share_unified = 100, share_first = 1024;  ///< what the kernel gives by itself

}  // namespace cmcp::sandbox
