#pragma once

#include "async/asio.hpp"

#include <boost/asio/generic/stream_protocol.hpp>

namespace cmcp {

/// The connection of a client: TCP, or a UNIX socket.
using stream_socket = asio::generic::stream_protocol::socket;

}  // namespace cmcp
