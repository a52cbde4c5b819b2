#pragma once

#include "limits/tree_usage.hpp"

#include <cstdint>
#include <string>

/// Project quotas: files of one project count together, and the kernel refuses what goes beyond the limit of the
/// project (EDQUOT). New files take over the project of their folder. Only root outside of user namespaces gives and
/// bounds projects, so a run cannot leave its own. The number is that of the folder's inode, above those that
/// administrators use, and is stored in the folder itself; it is free again when the last file of the project is
/// deleted.
namespace cmcp::sandbox {

/// Why the kernel holds no bound on the file system of `path`; empty: it does.
std::string project_obstacle(const std::string& path);

/// The project that a launcher gave to the folder; 0: none. `folder` is open for reading, here and below.
std::uint32_t project_of(int folder);

/// A project for a folder that has none; 0: it has one, of an administrator perhaps, or the kernel holds no bound here.
std::uint32_t free_project(int folder);

/// Puts an open file or folder into the project. False: errno tells why not.
bool put_into_project(int file, std::uint32_t project);

/// From now on the kernel refuses what is more. The folder itself is not counted among the files.
void bound_project(int folder, std::uint32_t project, tree_bounds most);

/// Whether the project has reached its bounds, as far as a program can tell: less is left than a small file takes.
bool is_full(int folder, std::uint32_t project);

}  // namespace cmcp::sandbox
