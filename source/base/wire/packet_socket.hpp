#pragma once

#include "posix/unique_fd.hpp"

#include <sys/socket.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp::sandbox {

/// A message of a SOCK_SEQPACKET socket with the descriptors that came with it. No bytes: the peer is gone.
struct packet {
    std::string bytes;
    std::vector<unique_fd> descriptors;
};

/// The longest message of a packet; a longer one travels in a memfd.
inline constexpr std::size_t packet_limit = 48 * 1024;
inline constexpr std::size_t longest_packet = packet_limit + 1024;  ///< with what goes around the message

/// Two connected Unix sockets, close-on-exec. Throws std::system_error.
std::pair<unique_fd, unique_fd> socket_pair(int type);
inline std::pair<unique_fd, unique_fd> packet_socket_pair() { return socket_pair(SOCK_SEQPACKET); }

/// Sends one packet. False: the socket is full, wait until it is writable. Throws std::system_error, also for one
/// that is longer than longest_packet.
bool send_packet(int socket, std::string_view bytes, std::span<const int> descriptors = {});

bool send_packet(int socket, const packet& message);

/// The same once there is room. For a peer that always reads in the end, and does not wait for this process.
void send_packet_waiting(int socket, std::string_view bytes, std::span<const int> descriptors = {});

/// The next packet, without waiting; nothing: none is there. A connection reset counts as a peer that is gone.
std::optional<packet> receive_packet(int socket);

/// The next packet, waited for at most `limit_ms` milliseconds (-1: without a limit). Nothing: none came, or the peer
/// is gone.
std::optional<packet> wait_for_packet(int socket, int limit_ms);

/// The next packet, waited for. No bytes: the peer is gone.
packet await_packet(int socket);

/// The next packet, waited for. This process ends where the peer is gone.
packet await_packet_or_end(int socket);

}  // namespace cmcp::sandbox
