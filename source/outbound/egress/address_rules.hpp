#pragma once

#include <boost/asio/ip/address.hpp>

#include <string_view>

namespace cmcp {

/// The name of the special-purpose range that `address` is in ("loopback", "private (RFC 1918)", "link-local",
/// "cloud metadata", …; IANA special-purpose registries), empty for a public address. An IPv4 address inside an IPv6
/// one (mapped, compatible, NAT64, 6to4, Teredo, ISATAP) is judged as that IPv4 address.
std::string_view special_range(const boost::asio::ip::address& address);

/// Whether both are of one family and agree in the first `prefix` bits.
bool same_block(const boost::asio::ip::address& a, const boost::asio::ip::address& b, unsigned prefix);

/// Addresses at which clouds give out credentials: no wide entry opens them.
bool is_metadata_address(const boost::asio::ip::address& address);

}  // namespace cmcp
