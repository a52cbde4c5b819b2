#pragma once

#include "jail/seccomp_filter.hpp"

namespace cmcp::sandbox {

/// A filter on top of the general one for runs without a cgroup. It refuses System V shared memory and message queues:
/// the kernel keeps both while no process maps them, so that no look at the processes can count them. Likewise
/// memfd_create: its files live on in messages between sockets. Shared memory of /dev/shm stays, it has a size of its
/// own.
bpf_program refuse_uncounted_memory();

}  // namespace cmcp::sandbox
