#pragma once

#include "async/asio.hpp"

#include <boost/asio/ip/address.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cmcp {

/// The name has no address; what() is the resolver's own phrase ("Domain name not found").
struct resolve_error : std::runtime_error {
    explicit resolve_error(const char* phrase, bool nobody_answered = false)
        : std::runtime_error(phrase), no_answer(nobody_answered)
    {
    }

    bool no_answer;  ///< no name server answered: nothing is known about the name
};

/// All addresses of `name`, IPv4 and IPv6, in the order of RFC 6724: /etc/hosts first, then the servers of
/// /etc/resolv.conf, both read anew each time. Runs on the io thread by c-ares: no hidden thread, and cancelled at
/// once. Throws resolve_error.
awaitable<std::vector<boost::asio::ip::address>> resolve(std::string name);

}  // namespace cmcp
