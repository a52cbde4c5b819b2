#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cmcp {

/// Text that is no host; what() is a sentence for the caller.
struct bad_host : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The host of a URL in its one canonical form: lower case, without a closing dot, international names as A-labels
/// (UTS 46), every way to write an address (127.1, 0x7f.1, 017700000001, 2130706433, [::ffff:7f00:1]) as that address.
struct host {
    std::string name;                                 ///< IPv6 without brackets
    std::optional<boost::asio::ip::address> address;  ///< set when the host is an address and no name

    std::string text() const;  ///< as in a URL: IPv6 in brackets
    std::string with_port(std::uint16_t port) const { return text() + ":" + std::to_string(port); }
    friend bool operator==(const host&, const host&) = default;
};

/// The IPv4 address that an IPv6 address maps (::ffff:127.0.0.1), else the address itself.
boost::asio::ip::address unmapped(const boost::asio::ip::address& address);

/// `text` as it stands in a URL (IPv6 in brackets or not). A name whose last label is a number is read as an IPv4
/// address, as the WHATWG URL standard and inet_aton do. Throws bad_host.
host read_host(std::string_view text);

}  // namespace cmcp
