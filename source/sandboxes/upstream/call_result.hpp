#pragma once

#include "jsonrpc/json.hpp"

namespace cmcp {

/// The result of tools/call as every revision has it: `content`, and `structuredContent` and `isError` where the server
/// sent them. Throws upstream_problem, the end of a sentence: it is no CallToolResult, or one that asks for more.
json::object checked_call_result(json::object result);

}  // namespace cmcp
