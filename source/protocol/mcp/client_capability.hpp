#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/caller.hpp"

#include <string_view>

namespace cmcp {

/// The `ClientCapabilities` object that a request to the client needs ({"elicitation": {}}).
/// Throws std::logic_error for a method that is no request to a client.
json::object capability_needed(std::string_view method, const json::object& params);

bool has_capability(const json::object& declared, const json::object& needed);

/// The same for a request. A client that names modes of elicitation takes forms only where it names them.
bool supports_request(const caller& who, std::string_view method, const json::object& params);

/// Throws rpc_error missing_client_capability unless the caller declared what the request needs.
void require_capability(const caller& who, std::string_view method, const json::object& params);

/// The extension that lets tools/call be answered with a task (SEP-2663).
inline constexpr std::string_view tasks_extension = "io.modelcontextprotocol/tasks";

/// Whether the caller declared it for this request.
bool declares_tasks(const caller& who);

/// Throws rpc_error missing_client_capability unless declares_tasks().
void require_tasks_extension(const caller& who);

}  // namespace cmcp
