#pragma once

#include "identity/scope.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/tool_registry.hpp"

#include <vector>

namespace cmcp {

/// The scopes that a caller needs for all these messages. Empty: any caller may send them.
scope_set needed_scopes(const tool_registry& tools, const std::vector<jsonrpc::message>& messages);

}  // namespace cmcp
