#pragma once

#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

#include <string_view>
#include <vector>

namespace cmcp {

/// Addresses and blocks of addresses, "10.0.0.0/8 2001:db8::1".
class networks {
public:
    /// Between blanks or commas. Throws std::invalid_argument with a sentence that names the wrong word.
    static networks parse(std::string_view text);

    /// An address or a block. Throws as parse().
    void add(std::string_view word);

    bool empty() const { return v4_.empty() && v6_.empty(); }

    /// An IPv4 address that is written as IPv6 (::ffff:a.b.c.d) is the IPv4 one.
    bool hold(std::string_view address) const;

private:
    std::vector<boost::asio::ip::network_v4> v4_;
    std::vector<boost::asio::ip::network_v6> v6_;
};

}  // namespace cmcp
