#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/tool_registry.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

using header_reader = std::function<std::optional<std::string_view>(std::string_view)>;

/// 2026-07-28 over HTTP: MCP-Protocol-Version, Mcp-Method, Mcp-Name and Mcp-Param-* repeat values of the body. `header`
/// gives a header's value or nothing. Returns the error to send (HTTP 400), or nothing.
std::optional<rpc_error> header_mismatch(const tool_registry& tools, const jsonrpc::request& incoming,
                                         const header_reader& header);

}  // namespace cmcp
