#pragma once

#include "jsonrpc/json.hpp"
#include "mcp/prompt.hpp"
#include "mcp/revision.hpp"
#include "mcp/tool.hpp"

namespace cmcp {

/// The reader of a result: a model behind a client, or a program, which wants the object in any case.
enum class result_reader { model, program };

/// Objects as one revision knows them: a member that came later is left out, for clients that are strict.
json::object describe_tool(const tool_definition& definition, revision protocol);

/// Several clients show a model nothing but structuredContent where there is any, so a result with images has none.
json::object describe_tool_result(tool_result result, revision protocol, result_reader reader = result_reader::model);
json::object describe_prompt(json::object definition, revision protocol);
json::array describe_resources(json::array resources, revision protocol);
json::object describe_prompt_result(json::object result, revision protocol);

}  // namespace cmcp
