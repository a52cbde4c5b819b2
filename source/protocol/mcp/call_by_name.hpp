#pragma once

#include "mcp/tool_registry.hpp"

namespace cmcp {

/// The tool by which a client calls those that its list leaves out: {name, arguments}.
inline constexpr const char* call_tool_name = "call_tool";

/// The tool that the params of tools/call name, also through call_tool, whatever the arguments are. Null: there is
/// none.
const tool* tool_in(const tool_registry& tools, const json::object& params);

/// Makes the params of a call of call_tool those of a call of the tool that it names, so that nothing behind can tell
/// the two apart. Others stay, and so does a call_tool whose arguments do not do: its own answer says why.
void mean_named_tool(const tool_registry& tools, json::object& params);

}  // namespace cmcp
