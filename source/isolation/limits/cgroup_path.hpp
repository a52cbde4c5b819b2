#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// The controllers that runs are held by; each may be of cgroup v2 or of v1, or be missing.
inline constexpr std::string_view needed_controllers[] = {"memory", "pids", "cpu"};

/// A folder in one hierarchy of cgroups.
struct cgroup_path {
    std::filesystem::path folder;
    bool unified = false;                  ///< v2
    std::vector<std::string> controllers;  ///< those of this hierarchy that are used; v2 may add io

    bool controls(std::string_view controller) const;
};

/// The groups that this process is in, as far as groups can be made below them.
struct cgroup_paths {
    std::vector<cgroup_path> all;
    std::map<std::string, std::string, std::less<>> lacking;  ///< controller to the reason why no path has it
};

cgroup_paths find_cgroup_paths();

/// In v2, where only leaves hold processes: moves the server, its helpers and this process into a leaf below, and hands
/// the controllers down. Nothing in v1. Throws step_failed where other processes are there.
void divide(const cgroup_path& path);

}  // namespace cmcp::sandbox
