#pragma once

#include <string_view>

/// Keys of `_meta`.
namespace cmcp::reserved_name {

// of revision 2026-07-28
inline constexpr std::string_view protocol_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view client_info = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view client_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view log_level = "io.modelcontextprotocol/logLevel";
inline constexpr std::string_view server_info = "io.modelcontextprotocol/serverInfo";
inline constexpr std::string_view subscription_id = "io.modelcontextprotocol/subscriptionId";

// ours, in notifications/progress
inline constexpr std::string_view stream = "container-mcp/stream";
inline constexpr std::string_view offset = "container-mcp/offset";

// ours, in the result of a call that found its queue full: "caller" or "server", whose queue that is
inline constexpr std::string_view busy = "container-mcp/busy";

// ours, in the params of tools/call: as the header Idempotency-Key
inline constexpr std::string_view idempotency_key = "container-mcp/idempotency-key";

// of Claude Code, in the description of a tool: how long its results may be
inline constexpr std::string_view most_characters = "anthropic/maxResultSizeChars";

}  // namespace cmcp::reserved_name
