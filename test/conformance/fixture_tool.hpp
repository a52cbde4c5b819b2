#pragma once

#include "mcp/tool.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cmcp::fixture {

using tool_function = awaitable<tool_result> (*)(tool_context& context, json::object arguments);

/// A tool made of a function. `schema`: the input schema as JSON text; empty: no arguments.
std::unique_ptr<tool> make_tool(std::string name, std::string description, tool_function function,
                                std::string_view schema = {}, task_use tasks = task_use::never);

tool_result text_result(std::string text);
json::object text_block(std::string text);
json::object image_block();
json::object resource_block(std::string uri, std::string mime_type, std::string text);

/// {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
json::object form_with(std::string_view name, std::string_view type);

}  // namespace cmcp::fixture
