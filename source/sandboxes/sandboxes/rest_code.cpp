#include "sandboxes/rest_code.hpp"

#include "async/sized_work.hpp"
#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "http/router.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/code_tools.hpp"
#include "mcp/result_budget.hpp"
#include "rest/rest_call.hpp"
#include "sandboxes/tool_rights.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

constexpr std::string_view list_path = "/tools";
constexpr std::size_t most_tools_listed = 10'000;
constexpr std::size_t bytes_of_tool = 512;  // so many for each, and the list of some hundred is made on the pool

// A tool that code may call, as it is called.
struct wanted_tool {
    std::string server;  ///< empty: it is a tool of this server
    std::string tool;

    std::string name() const { return server.empty() ? tool : server + "." + tool; }

    static wanted_tool read(std::string_view path)
    {
        const std::string name = percent_decoded(path.substr(list_path.size() + 1));
        const auto dot = name.find('.');
        if (dot == std::string::npos) return {{}, name};
        return {name.substr(0, dot), name.substr(dot + 1)};
    }
};

bool means(const settings& config, const tool_definition& tool)
{
    return list_means(config.sandbox_tools, tool.name, is_closed_and_read_only(tool));
}

std::vector<tool_for_code> own_tools(const http_request& request, const code_sources& from)
{
    std::vector<tool_for_code> all;
    for (const auto& each : from.core.tools().all()) {
        const auto& tool = each->definition();
        if (!tool.for_code_alone && !tool.leads_to_others && request.who->scopes.covers(tool.needs) &&
            means(from.config, tool) && overreach(tool, *request.who->code).empty())
            all.push_back(std::make_shared<const json::object>(described_to_code(tool)));
    }
    return all;
}

awaitable<std::vector<tool_for_code>> tools_for(const http_request& request, code_sources from)
{
    auto all = own_tools(request, from);
    auto others = co_await from.others.all(request.principal);
    for (auto& each : others)
        if (list_means_upstream(from.config.sandbox_tools, view_of(*each, "name"), *request.who->code))
            all.push_back(std::move(each));
    co_return all;
}

std::string list_text(const std::vector<tool_for_code>& tools)
{
    std::string text = R"({"tools":[)";
    for (const auto& each : tools) {
        if (each != tools.front()) text += ',';
        jsonrpc::append_json(text, *each);
    }
    return text += "]}";
}

awaitable<> list(exchange& x, code_sources from)
{
    auto& request = x.request();
    const auto limit = read_number<std::size_t>(request.parameter("limit").value_or("")).value_or(most_tools_listed);
    const auto words = request.parameter("search").value_or("");
    auto all = co_await tools_for(request, from);
    const auto size = all.size() * bytes_of_tool;
    auto work = [all = std::move(all), words, limit] { return list_text(best_fits(all, words, limit)); };
    const auto pool = from.core.pool().lock();
    http_reply reply;
    if (pool)
        reply.body = co_await by_size(*pool, request.principal, size, std::move(work));
    else
        reply.body = work();
    co_await x.reply(std::move(reply));
}

// By then the ticket is known to be good.
std::string_view ticket_of(const http_request& request)
{
    const auto brought = request.header("authorization").value_or("");
    return brought.substr(std::min(brought.size(), brought.find(' ') + 1));
}

// Of a tool that reads, the reason is that it reaches outside.
http_reply not_among(const std::string& name, bool reaches_out)
{
    return error_reply(403, name.substr(0, 100) + " is not among the tools that code may call here" +
                                (reaches_out ? ", because it reaches outside of the server: the operator names it in "
                                               "SANDBOX_TOOLS to allow it."
                                             : " (SANDBOX_TOOLS)."));
}

std::optional<http_reply> refusal_from_code(const code_sources& from, const http_request& request,
                                            const std::string& name)
{
    const tool* const own = from.core.tools().find(name);
    if (own != nullptr && !own->definition().for_code_alone && !own->definition().leads_to_others) {
        const auto& tool = own->definition();
        if (!means(from.config, tool)) return not_among(name, tool.annotations.open_world);
        if (const auto why = overreach(tool, *request.who->code); !why.empty()) return error_reply(403, why);
    } else if (own != nullptr) {
        return not_among(name, false);
    }
    if (from.rights.take_call(ticket_of(request))) return std::nullopt;
    return error_reply(429, "This run, or shell, has made the " + std::to_string(from.config.sandbox_tools_calls) +
                                " calls of tools that it may make; go on in another one.");
}

awaitable<std::optional<http_reply>> refusal_of_other(const http_request& request, code_sources from,
                                                      wanted_tool wanted)
{
    const auto reads_only = co_await from.others.reads_only(request.principal, wanted.server, wanted.tool);
    const std::string name = wanted.name();
    if (!reads_only) co_return error_reply(404, "There is no tool \"" + name.substr(0, 100) + "\".");
    if (!list_means_upstream(from.config.sandbox_tools, name, *request.who->code)) co_return not_among(name, true);
    co_return std::nullopt;
}

// Code has room for whole results.
void want_all(const tool_definition& tool, json::object& arguments)
{
    if (!takes_max_output(tool.input_schema))
        arguments.emplace("max_output", static_cast<std::int64_t>(result_limits().most));
}

awaitable<> call_from_code(exchange& x, code_sources from)
{
    const auto wanted = wanted_tool::read(x.request().path);
    std::string name = wanted.name();
    json::object arguments;
    auto refusal = refusal_from_code(from, x.request(), name);
    if (!refusal) refusal = read_arguments(x.request(), from.config.json_depth, arguments);
    if (!refusal && !wanted.server.empty()) refusal = co_await refusal_of_other(x.request(), from, wanted);
    if (refusal) {
        co_await refuse_call(x, std::move(name), std::move(arguments), std::move(*refusal));
        co_return;
    }
    if (!wanted.server.empty()) {
        arguments = {{"server", wanted.server}, {"tool", wanted.tool}, {"arguments", std::move(arguments)}};
        name = upstream_tool_name;
    }
    if (const tool* const called = from.core.tools().find(name); called != nullptr) {
        mean_own_sandbox(called->definition(), arguments, *x.request().who->code);
        want_all(called->definition(), arguments);
    }
    co_await call_tool(x, from.core, from.config, std::move(name), std::move(arguments));
}

}  // namespace

void add_code_routes(router& routes, code_sources from)
{
    routes.add(
        {.methods = {"GET"}, .path = std::string(list_path), .serve = [from](exchange& x) { return list(x, from); }});
    routes.add({.methods = {"POST"},
                .path = std::string(list_path) + "/*",
                .serve = [from](exchange& x) { return call_from_code(x, from); },
                .body = route_body::optional_json,
                .takes_long_json = true});
}

}  // namespace cmcp
