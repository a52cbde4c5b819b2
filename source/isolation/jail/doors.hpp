#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <vector>

/// A network by policy: sockets of a cell's own network that the server serves. No route leads out of that network; the
/// addresses of two ranges stand for names, and connections to them arrive at the sockets.
namespace cmcp::sandbox {

// The same ranges as in egress/name_addresses.hpp: 198.18.0.0/15 and fd63:6d63:7000::/64.
inline constexpr std::array<std::uint8_t, 4> names_range_v4{198, 18};
inline constexpr std::uint8_t names_prefix_v4 = 15;  ///< bits
inline constexpr std::array<std::uint8_t, 16> names_range_v6{0xfd, 0x63, 0x6d, 0x63, 0x70};
inline constexpr std::uint8_t names_prefix_v6 = 64;

/// In the first process of a cell, while it may change its network: gives loopback 127.0.0.2 and an address of IPv6,
/// too. C libraries that are asked for the addresses of a name that this machine can use (AI_ADDRCONFIG) look at the
/// interfaces, and find no use for any where 127.0.0.1 and ::1 are all. Throws step_failed.
void add_loopback_addresses();

bool stands_for_name(const in_addr& address);
bool stands_for_name(const in6_addr& address);

/// In the first process of a cell, while it may change its network and before any program is in it: makes the addresses
/// local and the sockets, and hands them over by child_says::doors. Without ports there is the door for `tools` alone.
/// Keeps none. Throws step_failed, std::system_error.
void hand_over_doors(int control, const std::vector<std::uint16_t>& ports, bool tools);

}  // namespace cmcp::sandbox
