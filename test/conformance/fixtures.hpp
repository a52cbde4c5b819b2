#pragma once

#include "mcp/server_core.hpp"

namespace cmcp::fixture {

/// The tools, prompts and resources that the public conformance suites expect of a server, one function a group.
void add_content_tools(server_core& core);
void add_stream_tools(server_core& core);
void add_question_tools(server_core& core);
void add_input_required_tools(server_core& core);
void add_schema_tools(server_core& core);
void add_task_tools(server_core& core);
void add_change_tools(server_core& core);
void add_prompts(server_core& core);
void add_resources(server_core& core);

}  // namespace cmcp::fixture
