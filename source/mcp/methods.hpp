#pragma once

#include "mcp/catalogue.hpp"
#include "mcp/request_io.hpp"
#include "mcp/running_request.hpp"

#include <string>
#include <string_view>

namespace cmcp {

/// One request on its way through a method. Lives as long as the method runs.
struct method_call {
    const caller& who;
    const json::object& params;
    request_io& io;
    running_request& request;
    json::object input_responses;
    std::string request_state;
};

using method_function = awaitable<json::object> (*)(catalogue& offered, method_call& call);

/// The methods that both eras know; null for others.
method_function find_shared_method(std::string_view name);

awaitable<json::object> list_tools(catalogue& offered, method_call& call);
awaitable<json::object> call_tool(catalogue& offered, method_call& call);
awaitable<json::object> list_resources(catalogue& offered, method_call& call);
awaitable<json::object> list_resource_templates(catalogue& offered, method_call& call);
awaitable<json::object> read_resource(catalogue& offered, method_call& call);
awaitable<json::object> list_prompts(catalogue& offered, method_call& call);
awaitable<json::object> get_prompt(catalogue& offered, method_call& call);
awaitable<json::object> complete_argument(catalogue& offered, method_call& call);

/// The context that a tool or a prompt is given for a call.
tool_context context_of(method_call& call);

[[noreturn]] void refuse_method(std::string_view name);
[[noreturn]] void refuse_resource(const std::string& uri, revision protocol);

}  // namespace cmcp
