#pragma once

#include "async/asio.hpp"
#include "streams/stream_socket.hpp"

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace cmcp {

/// what() says why a server that the settings name is not reached, as the end of a sentence: "it refuses connections".
struct unreachable_server : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The same of an error of a connection.
std::string connection_problem(const boost::system::error_code& failure);

/// A connection to the first address of `host`, a name or an address, that takes it within `limit`. Throws
/// unreachable_server, and operation_aborted when it is cancelled.
awaitable<stream_socket> reach(std::string host, std::uint16_t port, std::chrono::seconds limit);

}  // namespace cmcp
