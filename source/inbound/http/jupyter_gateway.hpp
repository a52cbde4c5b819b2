#pragma once

#include "http/exchange.hpp"
#include "http/websocket.hpp"

namespace cmcp {

/// Kernels, sessions and files of sandboxes as a Jupyter server offers them, for the transport that brings the
/// requests.
class jupyter_gateway {
public:
    virtual ~jupyter_gateway() = default;

    /// A request of /api or below it. A kernel's channels become a WebSocket among `sockets`.
    virtual awaitable<> serve(exchange& x, websocket_register& sockets) = 0;
};

}  // namespace cmcp
