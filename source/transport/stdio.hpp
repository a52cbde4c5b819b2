#pragma once

#include "async/asio.hpp"
#include "config/settings.hpp"
#include "mcp/server_core.hpp"

namespace cmcp {

/// Serves both eras over two descriptors, one JSON-RPC message a line. Returns when `input` ends and all requests have
/// been answered or, after the drain timeout, cancelled. The same for cancellation.
awaitable<> serve_stdio(server_core& core, const settings& config, int input, int output);

}  // namespace cmcp
