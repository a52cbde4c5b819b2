#pragma once

#include "async/asio.hpp"
#include "streams/stream_socket.hpp"

#include <boost/asio/ip/address.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace cmcp {

/// what() says why a server that the settings name is not reached, as the end of a sentence: "it refuses connections".
struct unreachable_server : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The same of an error of a connection.
std::string connection_problem(const boost::system::error_code& failure);

/// Nothing: the host is a name.
std::optional<boost::asio::ip::address> address_in(const std::string& host);

/// A connection to the first address of `host`, a name or an address, that takes it within `limit`. Throws
/// unreachable_server, and operation_aborted when it is cancelled.
awaitable<stream_socket> reach(std::string host, std::uint16_t port, std::chrono::seconds limit);

}  // namespace cmcp
