#pragma once

#include "jsonrpc/message.hpp"
#include "mcp/tool_registry.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cmcp {

using header_reader = std::function<std::optional<std::string_view>(std::string_view)>;

/// 2026-07-28, "Request headers": each of them repeats a value of the body. Throws rpc_error header_mismatch.
void check_request_headers(const tool_registry& tools, const jsonrpc::request& incoming, const header_reader& header);

}  // namespace cmcp
