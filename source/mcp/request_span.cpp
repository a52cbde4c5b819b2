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

std::string_view text_of(const json::object& from, std::string_view name)
{
    const auto* found = from.if_contains(name);
    return found && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

// Why a run ended, where the request was one.
std::string_view cause_of(const outcome& done)
{
    const auto* content = done.result ? done.result->if_contains("structuredContent") : nullptr;
    return content && content->is_object() ? text_of(content->get_object(), "cause") : std::string_view();
}

bool is_tool_error(const outcome& done)
{
    const auto* flag = done.result ? done.result->if_contains("isError") : nullptr;
    return flag && flag->is_bool() && flag->get_bool();
}

std::string error_of(const running_request& request, const outcome& done)
{
    if (request.cancelled()) return "cancelled";
    if (done.error) return std::to_string(static_cast<int>(done.error->code));
    return is_tool_error(done) ? "tool_error" : std::string();
}

}  // namespace

metrics::span span_of(const running_request& request, const outcome& done, std::chrono::duration<double> took)
{
    metrics::span made;
    const std::string target = request.target.substr(0, longest_target);
    const std::string_view attribute = attribute_of(request.method);
    const bool in_name = attribute.ends_with(".name") && !target.empty();   // a URI would make too many names
    made.name = in_name ? request.method + " " + target : request.method;
    made.parent = request.trace;
    made.took = std::chrono::duration_cast<std::chrono::nanoseconds>(took);
    made.began = std::chrono::system_clock::now() - std::chrono::duration_cast<std::chrono::system_clock::duration>(took);
    made.attributes = {{"mcp.method.name", request.method}, {"container_mcp.request", request.log_id}};
    if (!attribute.empty() && !target.empty()) made.attributes.emplace_back(attribute, target);
    if (const auto cause = cause_of(done); !cause.empty()) made.attributes.emplace_back("container_mcp.cause", cause);
    made.error = error_of(request, done);
    return made;
}

}  // namespace cmcp
