#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

/// The files of a cgroup, which set limits in the kernel and show its figures.
namespace cmcp::sandbox {

std::string read_control(const std::filesystem::path& file);  ///< empty where it cannot be read

bool write_control(const std::filesystem::path& file, const std::string& text);  ///< false with errno

std::uint64_t number_in(const std::filesystem::path& file);  ///< 0 where there is none

/// The number behind `name` in a file of names and numbers; 0 where there is none.
std::uint64_t number_in(const std::filesystem::path& file, const std::string& name);

/// Also of a process that a /proc mounted with hidepid does not show.
bool has_member(const std::filesystem::path& folder, pid_t process);

/// Removes a group that its launcher left behind, with all groups below it. Processes in it are killed, and their end
/// is waited for, two seconds at most.
void remove_group(const std::filesystem::path& folder);

}  // namespace cmcp::sandbox
