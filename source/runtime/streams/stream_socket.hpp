#pragma once

#include "async/asio.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

namespace cmcp {

/// A connection to a client or a server: TCP, or a UNIX socket.
using stream_socket = asio::generic::stream_protocol::socket;

/// No byte and no end has come that nobody has read.
bool is_quiet(stream_socket& socket);

}  // namespace cmcp
