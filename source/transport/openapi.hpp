#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/tool_registry.hpp"

#include <string_view>

namespace cmcp {

/// An OpenAPI 3.1 document of the REST paths, made of the schemas that tools/list publishes.
json::object openapi_of(const tool_registry& tools, std::string_view version);

}  // namespace cmcp
