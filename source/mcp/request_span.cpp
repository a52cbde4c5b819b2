#include "mcp/request_span.hpp"

#include <string_view>

namespace cmcp {

namespace {

constexpr std::size_t longest_target = 200;

std::string_view attribute_of(std::string_view method)
{
    if (method == "tools/call") return "gen_ai.tool.name";
    if (method == "prompts/get") return "gen_ai.prompt.name";
    return method.starts_with("resources/") ? "mcp.resource.uri" : std::string_view();
}

std::string error_of(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    if (done.error) return std::to_string(static_cast<int>(done.error->code));
    return request.facts.failed || request.facts.refused ? "tool_error" : std::string();
}

}  // namespace

metrics::span span_of(const running_request& request, const outcome& done, std::chrono::duration<double> took)
{
    metrics::span made;
    const std::string target = request.target.substr(0, longest_target);
    const std::string_view attribute = attribute_of(request.method);
    const bool in_name = attribute.ends_with(".name") && !target.empty();  // a URI would make too many names
    made.name = in_name ? request.method + " " + target : request.method;
    made.parent = request.trace;
    made.took = std::chrono::duration_cast<std::chrono::nanoseconds>(took);
    made.began =
        std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(took);
    made.attributes = {{"mcp.method.name", request.method}, {"container_mcp.request", request.ids.own}};
    if (!attribute.empty() && !target.empty()) made.attributes.emplace_back(attribute, target);
    if (!request.facts.cause.empty()) made.attributes.emplace_back("container_mcp.cause", request.facts.cause);
    if (!request.task.empty()) made.attributes.emplace_back("container_mcp.task", request.task);
    made.error = error_of(request, done);
    return made;
}

}  // namespace cmcp
