#pragma once

#include "posix/unique_fd.hpp"
#include "wire/launcher_protocol.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Sockets of a lasting cell's network: its first process makes them when the launcher orders one, unconnected, and
/// keeps none. The network holds loopback alone, so they reach nothing else in whatever process they are used.
namespace cmcp::sandbox {

std::string encode_socket_order(std::uint64_t request, cell_socket kind);

/// In the first process: answers an order by child_says::socket with the request's number, errno and the socket. Throws
/// std::system_error.
void hand_out_socket(int control, std::string_view order);

/// Why a descriptor is not such a socket, words for the middle of a sentence; empty: it is. Asked in the launcher,
/// whose own network is another one than any cell's.
std::string socket_obstacle(int descriptor, cell_socket kind);

/// The same for the doors of a cell (encode_doors()) with so many ports, and with the one for tools.
std::string doors_obstacle(std::span<const unique_fd> doors, std::size_t ports, bool tools);

}  // namespace cmcp::sandbox
