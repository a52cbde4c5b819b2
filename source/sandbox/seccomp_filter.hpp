#pragma once

#include <linux/filter.h>

#include <string>
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

/// Puts the calling thread under the filter for good, after setting no_new_privs. Async-signal-safe. False: see errno.
bool install_filter(const bpf_program& filter);

/// The name of a system call of this architecture, or its number where it has no known name.
std::string syscall_name(int number);

}  // namespace cmcp::sandbox
