#include "http/authenticator.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/code_tools.hpp"
#include "text/number.hpp"
#include "transport/rest_call.hpp"
#include "transport/rest_routes.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::string_view list_path = "/tools";
constexpr std::size_t most_listed = 10'000;

bool may_call(const settings& config, const tool_definition& tool)
{
    return list_means(config.sandbox_tools, tool.name, tool.annotations.read_only);
}

std::vector<json::object> tools_for(const http_request& request, const tool_registry& offered, const settings& config)
{
    std::vector<json::object> all;
    for (const auto& each : offered.all()) {
        const auto& tool = each->definition();
        if (may_call(config, tool) && request.who->scopes.covers(tool.needs)) all.push_back(described_to_code(tool));
    }
    return all;
}

awaitable<> list(exchange& x, const tool_registry& offered, const settings& config)
{
    auto& request = x.request();
    const auto limit = read_number<std::size_t>(request.parameter("limit").value_or("")).value_or(most_listed);
    const auto words = request.parameter("search").value_or("");
    json::array tools;
    for (auto& each : best_fits(tools_for(request, offered, config), words, limit)) tools.push_back(std::move(each));
    http_reply reply;
    reply.body = jsonrpc::write_json(json::object{{"tools", std::move(tools)}});
    co_await x.reply(std::move(reply));
}

// The name of the ticket's scheme is judged by then.
std::string_view ticket_of(const http_request& request)
{
    const auto brought = request.header("authorization").value_or("");
    return brought.substr(std::min(brought.size(), brought.find(' ') + 1));
}

std::optional<http_reply> refusal_from_code(const tool_registry& offered, const settings& config,
                                            const http_request& request, const std::string& name, code_gateway& rights)
{
    const tool* const wanted = offered.find(name);
    if (wanted != nullptr && !may_call(config, wanted->definition()))
        return error_reply(403, name +
                                    " is not among the tools that code may call here (SANDBOX_TOOLS); call it as a "
                                    "tool of its own.");
    if (rights.take_call(ticket_of(request))) return std::nullopt;
    return error_reply(429, "This run has made the " + std::to_string(config.sandbox_tools_calls) +
                                " calls of tools that it may make (SANDBOX_TOOLS_CALLS); go on in another run.");
}

awaitable<> call_from_code(exchange& x, server_core& core, const settings& config, code_gateway& rights)
{
    std::string name = percent_decoded(std::string_view(x.request().path).substr(list_path.size() + 1));
    json::object arguments;
    auto refusal = refusal_from_code(core.tools(), config, x.request(), name, rights);
    if (!refusal) refusal = read_arguments(x.request(), config.json_depth, arguments);
    if (refusal)
        co_await refuse_call(x, std::move(name), std::move(arguments), std::move(*refusal));
    else
        co_await call_tool(x, core, config, std::move(name), std::move(arguments));
}

}  // namespace

void add_code_routes(router& routes, server_core& core, const settings& config, code_gateway& rights)
{
    routes.add({.methods = {"GET"}, .path = std::string(list_path), .serve = [&core, &config](exchange& x) {
                    return list(x, core.tools(), config);
                }});
    routes.add({.methods = {"POST"},
                .path = std::string(list_path) + "/*",
                .serve = [&core, &config, &rights](exchange& x) { return call_from_code(x, core, config, rights); },
                .body = route_body::optional_json});
}

}  // namespace cmcp
