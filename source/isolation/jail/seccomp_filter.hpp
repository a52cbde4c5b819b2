#pragma once

#include "jail/syscall_rules.hpp"
#include "posix/unique_fd.hpp"
#include "wire/run_request.hpp"

#include <linux/filter.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// A system-call filter in the form the kernel takes it.
struct bpf_program {
    std::vector<sock_filter> code;
};

/// The filter of a run, for this machine's architecture: the calls of syscall_rules.hpp are allowed, other known ones
/// fail with EPERM, ones newer than the list with ENOSYS; calls of a foreign architecture kill the process. Where
/// `memory_files` is false memfd_create is refused too: a memfd can be executed whatever mounts and Landlock say. Costs
/// milliseconds: build it once. Throws std::system_error.
bpf_program compile_filter(bool memory_files = true);

/// The same filter for a run with a listener (refusal_listener.hpp): what would fail with EPERM, or be killed as a call
/// of a foreign architecture, every socket of another family than the internet's, and every bind and connect is sent to
/// the listener first. Without a listener it fails with ENOSYS.
/// Where `sockets` is false, sockets are refused as without a listener and only connect is sent. `more`: names of calls
/// that are sent to the listener, too, whatever their arguments are.
bpf_program compile_announcing_filter(bool memory_files = true, bool sockets = true,
                                      std::span<const std::string_view> more = {});

/// The filters of cells of class machine.
struct machine_filter {
    bpf_program quiet, announcing;
};
machine_filter compile_machine_filter(const machine_calls& which);  ///< throws std::system_error

/// A filter of these rules alone: every other call fails with `otherwise`. Throws std::system_error.
bpf_program compile_rules(const std::vector<syscall_rule>& rules, int otherwise);

/// The filters of runs, built once.
class call_filters {
public:
    /// `memory_is_counted` by a cgroup; otherwise only memory that processes map can be counted.
    /// `files_are_own`: no inode of the machine's files is shared with runs of others; otherwise none may be watched.
    /// `makes_sockets`: the cells' first processes do for their programs. Under Firejail, whose own refusals go before
    /// any listener, they do not.
    call_filters(bool memory_is_counted, bool files_are_own, bool makes_sockets = true);

    bool memory_is_counted() const { return counted_; }
    bool files_are_own() const { return own_; }
    std::vector<const bpf_program*> choose(const program_view& programs) const;
    const bpf_program* announcing(const program_view& programs) const;

    /// The filters of a cell, of which the first is one of these.
    std::vector<const bpf_program*> with_shared(const bpf_program& first) const;

    /// Compiled at the first call. Valid as long as this object.
    const machine_filter& machine(const machine_calls& which) const;

private:
    bool counted_, own_;
    bpf_program general_, listed_, announcing_general_, announcing_listed_;  // listed: under an allow-list
    bpf_program shared_;                                                     // what a run would share with others
    mutable std::map<machine_calls, machine_filter> machines_;
};

/// Puts the calling thread under the filter for good, after setting no_new_privs. Async-signal-safe. False: see errno.
bool install_filter(const bpf_program& filter);

/// The same for a filter made by compile_announcing_filter(); the listener is close-on-exec. None: see errno, no filter
/// is in force then (a process can have one listener only, and some containers have one already).
unique_fd install_announcing_filter(const bpf_program& filter);

/// The name of a system call of this architecture, or its number where it has no known name.
std::string syscall_name(int number);

/// The same for another architecture (AUDIT_ARCH_*), whose name is added.
std::string syscall_name(int number, std::uint32_t arch);

/// Whether a call is one of this machine's own kind; x86-64 with 32-bit pointers (x32) is not.
bool is_native(std::uint32_t arch, int number);

}  // namespace cmcp::sandbox
