#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// An IPv4 address that is written as IPv6 (::ffff:a.b.c.d) is the IPv4 one.
boost::asio::ip::address plain_address(const boost::asio::ip::address& of);

/// The text of plain_address(), by which one client has one name.
std::string address_text(const boost::asio::ip::address& of);

/// The text for an address by which what one client takes is counted: of IPv6 its /64, because a client has all of
/// that. Other texts stay as they are.
std::string counted_address(const std::string& address);

/// Addresses and blocks of addresses, "10.0.0.0/8 2001:db8::1".
class networks {
public:
    /// Between blanks or commas. Throws std::invalid_argument with a sentence that names the wrong word.
    static networks parse(std::string_view text);

    /// An address or a block. Throws as parse().
    void add(std::string_view word);

    bool empty() const { return v4_.empty() && v6_.empty(); }

    /// By plain_address(). What is not an address is in no network.
    bool hold(std::string_view address) const;

private:
    std::vector<boost::asio::ip::network_v4> v4_;
    std::vector<boost::asio::ip::network_v6> v6_;
};

}  // namespace cmcp
