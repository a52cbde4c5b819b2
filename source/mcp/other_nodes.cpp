#include "mcp/other_nodes.hpp"

#include "jsonrpc/read_object.hpp"
#include "mcp/catalogue.hpp"
#include "text/handles.hpp"

#include <optional>

namespace cmcp {

namespace {

// The first of them that leads elsewhere.
std::string node_of_call(const json::object& params, const catalogue& offered)
{
    const auto* called = offered.tools.find(view_of(params, "name"));
    if (called == nullptr) return {};
    const auto& properties = object_of(called->definition().input_schema, "properties");
    for (const auto& argument : object_of(params, "arguments")) {
        if (!argument.value().is_string() || !object_of(properties, argument.key()).contains("x-mcp-header")) continue;
        auto node = offered.nodes->owner_of(argument.value().get_string());
        if (!node.empty()) return node;
    }
    return {};
}

// The word that stands in the place of a handle and is none; empty for the latest sandbox. Nothing: it is about
// neither.
std::optional<std::string> named_sandbox(const json::object& params, const catalogue& offered)
{
    const auto* called = offered.tools.find(view_of(params, "name"));
    if (called == nullptr) return std::nullopt;
    const auto& definition = called->definition();
    const auto name = view_of(object_of(params, "arguments"), "sandbox_id");
    if (name.empty()) return definition.about_latest ? std::optional<std::string>("") : std::nullopt;
    const bool takes = object_of(definition.input_schema, "properties").contains("sandbox_id");
    if (!takes || !handle_maker::node_of(name).empty()) return std::nullopt;
    return std::string(name);
}

constexpr int seconds_until_retry = 5;

}  // namespace

// sandbox://HANDLE/PATH
std::string node_of_resource(std::string_view uri, const other_nodes& nodes)
{
    const auto begin = uri.find("://");
    if (begin == std::string_view::npos) return {};
    const auto authority = uri.substr(begin + 3);
    return nodes.owner_of(authority.substr(0, authority.find('/')));
}

tool_result no_answer(const std::string& node, const std::string& why)
{
    auto result = tool_failure(why + " Call again in a moment; what it keeps is there when it is back.");
    result.structured["error_type"] = "NodeUnreachable";
    result.structured["node"] = node;
    result.structured["retry_after"] = seconds_until_retry;
    return result;
}

awaitable<json::object> call_elsewhere(const catalogue& offered, served_request& request, std::string node,
                                       json::object params)
{
    const bool calls_tool = request.method == "tools/call";
    if (calls_tool) request.facts.note_arguments(object_of(request.params, "arguments"));
    std::string problem;
    try {
        json::object result = co_await offered.nodes->call(request, node, std::move(params));
        request.facts.failed = flag_of(result, "isError");
        request.facts.note_content(result);
        co_return result;
    } catch (const node_unreachable& failure) {
        problem = failure.what();
    }
    if (!calls_tool) throw rpc_error(rpc_code::server_error, problem);
    auto failed = no_answer(node, problem);
    request.facts.note_result(failed);
    const auto reader = request.is_program ? result_reader::program : result_reader::model;
    co_return describe_tool_result(std::move(failed), *request.who, offered.format, reader);
}

awaitable<std::string> node_of(const served_request& request, const catalogue& offered)
{
    std::string node;
    if (offered.nodes == nullptr || request.passed_on) co_return node;
    if (request.method == "tools/call") node = node_of_call(request.params, offered);
    if (request.method == "resources/read") node = node_of_resource(view_of(request.params, "uri"), *offered.nodes);
    if (request.method.starts_with("tasks/")) node = offered.nodes->owner_of(view_of(request.params, "taskId"));
    if (!node.empty() || request.method != "tools/call") co_return node;
    auto name = named_sandbox(request.params, offered);
    if (name) node = co_await offered.nodes->node_with(*request.who, *std::move(name));
    co_return node;
}

}  // namespace cmcp
