#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The new mount calls of Linux (5.2 to 5.12), each throwing step_failed with the path in the step's name.
namespace cmcp::sandbox {

/// A detached copy of the mounts at `path` (relative to `directory`), with the mounts below them.
unique_fd copy_mount_tree(int directory, const std::string& path, const std::string& step);

/// The same of one mount alone.
unique_fd copy_mount(int directory, const std::string& path, const std::string& step);

/// Sets MOUNT_ATTR_* on the tree and, where `recursive`, on all mounts below it.
void set_mount_attributes(int tree, std::uint64_t attributes, bool recursive, const std::string& step);

/// Shows `tree` with the ids that `user_namespace` maps. False with errno: the file system cannot do that.
bool map_mount_ids(int tree, int user_namespace);

/// Attaches a detached tree at `path` (relative to `directory`; empty: at the directory itself).
void attach_mount(int tree, int directory, const std::string& path, const std::string& step);

/// Takes away the mounts at `path`; nothing where there are none.
void detach_mounts(const std::string& path);

/// In a mount namespace of its own: changes here do not show outside, nor the other way round.
void keep_mounts_private(const std::string& below = "/");

/// The same, but what is mounted outside later shows here.
void follow_outside_mounts();

/// A new detached overlay of folders that are there, the first on top, for reading only.
unique_fd new_overlay(const std::vector<std::string>& folders, const std::string& step);

/// A new detached overlay that is written to, in a user namespace of its own: what is changed goes to `upper`. `work`:
/// an empty folder of the same mount. Linux 5.11.
struct writable_overlay {
    std::vector<std::string> lower;  ///< the first on top
    std::string upper, work;
};
unique_fd new_writable_overlay(const writable_overlay& of, const std::string& step);

struct tmpfs_options {
    std::uint64_t size;  ///< bytes
    std::uint64_t inodes;
    std::string mode;  ///< octal
};

/// A new detached tmpfs with MOUNT_ATTR_* `attributes`.
unique_fd new_tmpfs(const tmpfs_options& options, std::uint64_t attributes, const std::string& step);

/// A tmpfs of `size` bytes at `path` of the mounted `root` that everyone may write to, for `files` files or more.
unique_fd mount_memory(int root, const std::string& path, std::uint64_t size, std::uint64_t files,
                       std::uint64_t attributes);

/// New terminals of nobody else's (devpts) at /dev/pts of the mounted `root`.
void mount_terminals(int root);

inline constexpr const char* proc_step = "mount /proc";

struct proc_options {
    bool processes_only = false;
    bool traceable_only = false;  ///< hides the processes that one may not trace
};

/// A new detached proc of the caller's PID namespace.
struct proc_mount {
    unique_fd mount;
    unique_fd context;
};
proc_mount new_proc(proc_options options);

/// Afterwards the kernel finds nothing more in the top folder but processes, and what something was mounted upon by
/// then. ENOTSUP: the kernel does not hide the rest.
void show_processes_only(const proc_mount& proc);

/// Where a new root is mounted until it is the root folder.
inline constexpr const char* root_mount_point = "/usr";

/// A folder of the machine for new roots to be mounted upon, which no program here needs and no workspace is in.
std::string stage_folder();

/// Makes `root` (a descriptor of an attached mount) the root folder and leaves nothing of the old one.
void enter_root(int root);

}  // namespace cmcp::sandbox
