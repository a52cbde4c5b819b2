#pragma once

#include "http/client_socket.hpp"
#include "http/connection.hpp"

#include <memory>

namespace cmcp {

/// Opens a connection for its first request: reads the PROXY header of a trusted proxy, and begins TLS where
/// this server speaks it. Both together have http_settings::header_timeout. False: the connection has ended.
awaitable<bool> open_connection(std::shared_ptr<client_socket> peer, std::shared_ptr<connection_context> context);

}  // namespace cmcp
