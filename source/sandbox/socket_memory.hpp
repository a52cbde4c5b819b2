#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>

namespace cmcp::sandbox {

/// A descriptor that answers socket_memory() about the caller's network namespace, in whatever process it is used.
/// None where the kernel cannot tell (sock_diag(7)).
unique_fd open_socket_statistics();

/// Bytes of kernel memory that wait in the sockets of the namespace that `statistics` was opened in. They belong to no
/// process, so that no look at the processes counts them.
std::uint64_t socket_memory(int statistics);

}  // namespace cmcp::sandbox
