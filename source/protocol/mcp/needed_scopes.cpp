#include "mcp/needed_scopes.hpp"

#include "mcp/call_by_name.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cmcp {

namespace {

constexpr std::array<std::string_view, 5> reading{"resources/", "prompts/", "completion/", "tasks/", "subscriptions/"};

// A tool that is unknown is refused by the call itself, with a sentence that helps.
scope_set needed_by(const tool_registry& tools, const jsonrpc::request& call)
{
    const std::string_view method = call.method;
    if (method == "tasks/cancel") return scope::run;
    const auto begins = [method](std::string_view start) { return method.starts_with(start); };
    if (std::any_of(reading.begin(), reading.end(), begins)) return scope::read;
    if (method != "tools/call") return {};
    const auto* called = tool_in(tools, call.params);
    return called == nullptr ? scope_set() : scope_set(called->definition().needs);
}

}  // namespace

scope_set needed_scopes(const tool_registry& tools, const std::vector<jsonrpc::message>& messages)
{
    scope_set all;
    for (const auto& each : messages)
        if (const auto* call = std::get_if<jsonrpc::request>(&each)) all = all | needed_by(tools, *call);
    return all;
}

}  // namespace cmcp
