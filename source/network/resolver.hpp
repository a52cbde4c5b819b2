#pragma once

#include "async/asio.hpp"

#include <boost/asio/ip/address.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

/// The name has no address; what() is the resolver's own phrase ("Domain name not found").
struct resolve_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// All addresses of `name`, IPv4 and IPv6, in the order of RFC 6724: /etc/hosts first, then the servers of
/// /etc/resolv.conf, both read anew each time. Runs on the io thread by c-ares: no hidden thread, and cancelled at once.
/// Throws resolve_error.
awaitable<std::vector<boost::asio::ip::address>> resolve(std::string name);

}  // namespace cmcp
