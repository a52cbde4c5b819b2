#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/read_object.hpp"
#include "mcp/arguments/lenient_arguments.hpp"
#include "rest/rest_call.hpp"
#include "rest/rest_routes.hpp"
#include "transport/profile_choice.hpp"

#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view prefix = "/mcp/tools/";

std::string tool_of(const http_request& request)
{
    return percent_decoded(std::string_view(request.path).substr(prefix.size()));
}

// A body whose reading is work for the pool is not looked into: its call is passed on as a message.
std::string sandbox_in(const http_request& request)
{
    if (request.body.size() > jsonrpc::longest_on_loop || request.body.find("sbx_") == std::string::npos) return {};
    return text_of(jsonrpc::read_object(request.body), "sandbox_id");
}

bool only_reads(const http_request& request, const tool_registry& tools)
{
    const auto* called = tools.find(tool_of(request));
    return called != nullptr && called->definition().annotations.read_only;
}

awaitable<> call(exchange& x, server_core& core, const settings& config)
{
    std::string name = tool_of(x.request());
    json::object arguments;
    if (auto refusal = read_arguments(x.request(), config.json_depth, arguments))
        co_await refuse_call(x, std::move(name), std::move(arguments), std::move(*refusal));
    else
        co_await call_tool(x, core, config, std::move(name), std::move(arguments));
}

route_operation operation_of(const tool_definition& tool)
{
    route_operation operation;
    operation.path = std::string(prefix) + tool.name;
    operation.id = tool.name;
    operation.summary = tool.title.empty() ? tool.name : tool.title;
    operation.description = tool.description;
    operation.tag = tool.name.starts_with("system_") ? "system"
                    : tool.name.starts_with("file_") ? "files"
                    : tool.name.starts_with("web_")  ? "web"
                    : tool.name.starts_with("job_")  ? "jobs"
                                                     : "sandboxes";
    operation.takes["application/json"] = tool.input_schema;
    operation.example = example_arguments(tool.input_schema, {});
    operation.body_required = tool.input_schema.contains("required");
    operation.gives["application/json"] =
        tool.output_schema.empty() ? json::object{{"type", "object"}} : tool.output_schema;
    operation.gives["text/event-stream"] = json::object{{"type", "string"},
                                                        {"description",
                                                         "event: stdout and event: stderr {text, offset} while it "
                                                         "runs, event: log {level, logger, data}, then event: result"}};
    operation.gives_what = "The result object";
    return operation;
}

std::vector<route_operation> describe_tools(const tool_registry& tools, const http_request& request)
{
    const caller who = caller_of(request);
    std::vector<route_operation> operations;
    for (const auto* each : tools.listed(who)) operations.push_back(operation_of(each->definition()));
    return operations;
}

}  // namespace

void add_tool_routes(router& routes, server_core& core, const settings& config)
{
    routes.add({.methods = {"POST"},
                .path = std::string(prefix) + "*",
                .serve = [&core, &config](exchange& x) { return call(x, core, config); },
                .body = route_body::optional_json,
                .takes_long_json = true,
                .handle = sandbox_in,
                .only_reads = [&core](const http_request& by) { return only_reads(by, core.tools()); },
                .by_browser = true,
                .operations = [&core](const http_request& request) { return describe_tools(core.tools(), request); }});
}

}  // namespace cmcp
