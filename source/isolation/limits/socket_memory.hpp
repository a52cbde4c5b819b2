#pragma once

#include "posix/unique_fd.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace cmcp::sandbox {

/// A descriptor that answers socket_memory() about the caller's network namespace, in whatever process it is used.
/// None where the kernel cannot tell (sock_diag(7)).
unique_fd open_socket_statistics();

/// Whether /proc/PID/net/sockstat and sockstat6 (proc_pid_net(5)), one after the other, tell of any TCP or UDP socket.
bool has_internet_sockets(std::string_view sockstat);

/// Bytes of kernel memory that wait in the sockets of the namespace that `statistics` was opened in. They belong to no
/// process, so that no look at the processes counts them. `internet`: TCP and UDP too; to answer that the kernel looks
/// through a table of all namespaces, which takes some 100 us.
std::uint64_t socket_memory(int statistics, bool internet);

/// The TCP ports of the namespace on which a program listens, in their order: the first 1000 that the kernel names.
/// Does not wait, but the kernel may take milliseconds where hostile programs listen on very many.
std::vector<std::uint16_t> listening_ports(int statistics);

}  // namespace cmcp::sandbox
