#pragma once

#include "mcp/caller.hpp"

#include <string_view>

namespace cmcp {

/// The extension that lets tools/call be answered with a task (SEP-2663).
inline constexpr std::string_view tasks_extension = "io.modelcontextprotocol/tasks";

/// Whether the caller declared it for this request.
bool declares_tasks(const caller& who);

/// Throws rpc_error missing_client_capability unless declares_tasks().
void require_tasks_extension(const caller& who);

}  // namespace cmcp
