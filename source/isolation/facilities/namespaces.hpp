#pragma once

#include "posix/unique_fd.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace cmcp::sandbox {

/// How ids inside and outside belong together: one user and one group.
struct id_pair {
    uid_t user;
    gid_t group;
};

inline constexpr id_pair inside_ids{1000, 1000};  ///< of a run, seen from inside
inline constexpr id_pair inside_root{0, 0};       ///< of a run in a cell of class machine

/// So many ids from one on are those from the other on, of users and groups alike.
struct id_range {
    unsigned from, to, count;
    auto operator<=>(const id_range&) const = default;
};

struct cloned {
    pid_t pid = 0;  ///< 0: this is the child
    unique_fd pidfd;
};

/// In a clone, which never comes back into its maker's own loop, not even when it fails: its maker sees it end.
template <class Live>
[[noreturn]] void live_and_end(Live live)
{
    try {
        live();
    } catch (...) {  // the parent has no other way to hear of it than the end
    }
    ::_exit(127);
}

/// CLONE_NEW* of all kinds (time too when `with_time`).
std::uint64_t all_namespaces(bool with_time);

/// Clones this process into new namespaces of the given kinds; dispositions of signals are reset.
/// With CLONE_PARENT among the kinds the clone is a child of this process's parent, which gets SIGCHLD at its end
/// or what else it chose for this process. `cgroup`: descriptor of the cgroup v2 folder to start in, or -1. Throws
/// step_failed("clone").
cloned clone_into_namespaces(std::uint64_t kinds, int cgroup);

/// Writes the id maps of `process` ("self" or a number): `inside` is `outside` in the writer's namespace.
/// `deny_setgroups` is needed without CAP_SETGID outside. Throws step_failed("id map").
void write_id_maps(const std::string& process, id_pair inside, id_pair outside, bool deny_setgroups);

/// The same for ranges, inside first. Throws step_failed("id map").
void write_id_ranges(const std::string& process, const std::vector<id_range>& ranges);

/// A user namespace whose only mapping is `from` to `to`, for an id-mapped mount. Throws step_failed.
unique_fd make_mapping_namespace(id_pair from, id_pair to);
unique_fd make_mapping_namespace(const std::vector<id_range>& ranges);  ///< the same

/// The kernel kills the caller when its parent ends. A change of user or of capabilities clears that again. Throws
/// step_failed.
void die_with_parent();

/// Maps the caller's `inside` to `outside`, without privilege. Throws step_failed("id map").
void map_own_ids(id_pair outside, id_pair inside = inside_ids);

/// Makes the caller `inside` and lets it die with its parent again. `leaves_groups`: its user namespace permits that.
/// Throws step_failed.
void become_inside_user(bool leaves_groups, id_pair inside = inside_ids);

void bring_loopback_up();  ///< throws step_failed
void forget_keyrings();    ///< a session keyring of its own; where the kernel has no keyrings nothing is to do

}  // namespace cmcp::sandbox
