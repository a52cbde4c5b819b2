#pragma once

#include "mcp/catalogue.hpp"
#include "mcp/running_request.hpp"

#include <string>
#include <string_view>

namespace cmcp {

using method_function = awaitable<json::object> (*)(catalogue& offered, running_request& call);

/// The methods that both eras know; null for others.
method_function find_shared_method(std::string_view name);

awaitable<json::object> list_tools(catalogue& offered, running_request& call);
awaitable<json::object> call_tool(catalogue& offered, running_request& call);
awaitable<json::object> list_resources(catalogue& offered, running_request& call);
awaitable<json::object> list_resource_templates(catalogue& offered, running_request& call);
awaitable<json::object> read_resource(catalogue& offered, running_request& call);
awaitable<json::object> list_prompts(catalogue& offered, running_request& call);
awaitable<json::object> get_prompt(catalogue& offered, running_request& call);
awaitable<json::object> complete_argument(catalogue& offered, running_request& call);

/// The result of a method that waits for nothing.
awaitable<json::object> finished(json::object result);

[[noreturn]] void refuse_method(std::string_view name);
[[noreturn]] void refuse_resource(const std::string& uri, revision protocol);

}  // namespace cmcp
