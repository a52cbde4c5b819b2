#pragma once

#include "identity/scope.hpp"
#include "jsonrpc/json.hpp"

namespace cmcp {

// For clients that show servers and tools to people, from 2025-11-25 on: a list of MCP `Icon`, each an image inside a
// `data:` URI, because clients of other origins may load none from the server.

json::array server_icons();

/// Of the tools that need this scope.
json::array tool_icons(scope needed);

}  // namespace cmcp
