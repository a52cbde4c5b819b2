#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>
#include <string>

/// The new mount calls of Linux (5.2 to 5.12), each throwing step_failed with the path in the step's name.
namespace cmcp::sandbox {

/// A detached copy of the mounts at `path` (relative to `directory`), with the mounts below them.
unique_fd copy_mount_tree(int directory, const std::string& path, const std::string& step);

/// Sets MOUNT_ATTR_* on the tree and, where `recursive`, on all mounts below it.
void set_mount_attributes(int tree, std::uint64_t attributes, bool recursive, const std::string& step);

/// Shows `tree` with the ids that `user_namespace` maps. False with errno: the file system cannot do that.
bool map_mount_ids(int tree, int user_namespace);

/// Attaches a detached tree at `path` (relative to `directory`; empty: at the directory itself).
void attach_mount(int tree, int directory, const std::string& path, const std::string& step);

struct tmpfs_options {
    std::uint64_t size;  ///< bytes
    std::uint64_t inodes;
    std::string mode;  ///< octal
};

/// A new detached tmpfs with MOUNT_ATTR_* `attributes`.
unique_fd new_tmpfs(const tmpfs_options& options, std::uint64_t attributes, const std::string& step);

/// A new detached proc of the caller's PID namespace that shows processes only. `hidden`: not those one may not trace.
unique_fd new_proc(bool hidden, const std::string& step);

/// The same, hidden, but until show_processes_only() its top folder shows everything. Afterwards the kernel finds
/// nothing more there but processes, and what something was mounted upon by then.
struct whole_proc {
    unique_fd mount;
    unique_fd context;
};
whole_proc new_whole_proc(const std::string& step);
void show_processes_only(const whole_proc& proc,
                         const std::string& step);  ///< ENOTSUP: the kernel does not hide the rest

/// A folder of the machine for new roots to be mounted upon, which no program here needs and no workspace is in.
std::string stage_folder();

/// Makes `root` (a descriptor of an attached mount) the root folder and leaves nothing of the old one.
void enter_root(int root);

}  // namespace cmcp::sandbox
