#pragma once

#include "async/asio.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

#include <chrono>

namespace cmcp {

/// A connection to a client or a server: TCP, or a UNIX socket.
using stream_socket = asio::generic::stream_protocol::socket;

/// beast::error::timeout where nobody has answered within `limit`; the socket may go on with it then.
awaitable<boost::system::error_code> connect_within(stream_socket& socket, stream_socket::endpoint_type to,
                                                    std::chrono::milliseconds limit);

/// No byte and no end has come that nobody has read.
bool is_quiet(stream_socket& socket);

}  // namespace cmcp
