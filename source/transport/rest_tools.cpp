#include "transport/rest_tools.hpp"

#include "async/task_group.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/reserved_names.hpp"
#include "mcp/schema_validator.hpp"
#include "transport/docs_page.hpp"
#include "transport/openapi.hpp"
#include "transport/rest_reply.hpp"
#include "transport/rest_sink.hpp"
#include "transport/sse_frame.hpp"

#include <string_view>
#include <utility>

namespace cmcp {

namespace {

constexpr std::string_view prefix = "/mcp/tools/";
// Most calls end sooner: only longer ones pay for a look at whether the client is still there.
constexpr std::chrono::milliseconds unwatched(50);

awaitable<> run_tool(server_core& core, std::string principal, jsonrpc::request asked, std::shared_ptr<rest_sink> sink)
{
    struct at_end {
        rest_sink& sink;
        ~at_end()
        {
            if (!sink.ended()) sink.close();
        }
    } tells{*sink};
    co_await core.handle_modern(std::move(principal), std::move(asked), sink);
}

// The stateless revision has just what one request needs.
jsonrpc::request request_for(const std::string& name, json::object arguments)
{
    json::object meta;
    meta[reserved_name::protocol_version] = to_string(revision::v2026_07_28);
    meta[reserved_name::client_capabilities] = json::object();
    meta["progressToken"] = 1;
    jsonrpc::request made;
    made.id = 1;
    made.method = "tools/call";
    made.params["name"] = name;
    made.params["arguments"] = std::move(arguments);
    made.params["_meta"] = std::move(meta);
    return made;
}

// Who takes JSON gets JSON.
bool wants_events(const http_request& asked)
{
    const auto accepted = asked.header("accept").value_or("");
    return accepted.find("text/event-stream") != std::string::npos &&
           accepted.find("application/json") == std::string::npos;
}

http_reply error_of(const json::object& error)
{
    const auto& code = error.at("code");
    const bool busy = code == rpc_code::server_busy;
    auto made = rest_error(busy ? 503 : code == rpc_code::invalid_params ? 400 : 500, std::string(error.at("message").as_string()));
    if (busy) made.with("Retry-After", "1");
    return made;
}

http_reply reply_of(const rest_sink& sink)
{
    if (!sink.error().empty()) return error_of(sink.error());
    if (!sink.ended()) return rest_error(503, "The call was cancelled: the server is stopping.");
    http_reply made;
    const auto object = rest_object(sink.result());
    made.status = rest_status(sink.result(), object);
    made.body = jsonrpc::write_json(object);
    return made;
}

}  // namespace

void rest_tools::add_routes(router& routes)
{
    routes.add("POST", "/mcp/tools/*", [this](exchange& x) { return call(x); });
    for (const auto* method : {"GET", "HEAD"}) {
        routes.add(method, "/openapi.json", [this](exchange& x) { return describe(x); });
        routes.add(method, "/docs", [](exchange& x) { return serve_docs(x); });
    }
}

bool rest_tools::read_arguments(http_request& asked, json::object& into, std::string& problem) const
{
    const std::string body = std::exchange(asked.body, {});
    if (body.find_first_not_of(" \t\r\n") == std::string::npos) return true;
    json::parse_options limits;
    limits.max_depth = chosen_.json_depth;
    json::error_code failure;
    json::value parsed = json::parse(body, failure, {}, limits);
    if (failure) problem = "The body is not JSON: " + failure.message() + ".";
    else if (!parsed.is_object()) problem = "The body must be a JSON object with the tool's arguments.";
    else into = std::move(parsed.get_object());
    return problem.empty();
}

std::string rest_tools::check(const std::string& name, json::object& arguments) const
{
    integers_as_integers(arguments, core_.tools().find(name)->definition().input_schema);
    return core_.tools().validate(name, arguments);
}

awaitable<> rest_tools::call(exchange& x)
{
    const std::string name = percent_decoded(std::string_view(x.request().path).substr(prefix.size()));
    json::object arguments;
    std::string problem;
    const bool known = core_.tools().find(name) != nullptr;
    const bool readable = known && read_arguments(x.request(), arguments, problem);
    if (readable) problem = check(name, arguments);
    if (!known || !problem.empty()) {
        auto refusal = known ? rest_error(400, problem)
                             : rest_error(404, "There is no tool \"" + name.substr(0, 100) + "\"; /docs lists them.");
        co_await x.reply(std::move(refusal));
        co_return;
    }
    auto sink = std::make_shared<rest_sink>(x.executor());
    const bool events = wants_events(x.request());
    // Going out of scope, the group cancels the call if it still runs: the client has closed the connection.
    task_group running(x.executor());
    running.spawn("rest call", run_tool(core_, x.request().principal, request_for(name, std::move(arguments)), sink));
    if (events) co_await stream(x, sink);
    else co_await answer(x, sink);
}

awaitable<> rest_tools::answer(exchange& x, std::shared_ptr<rest_sink> sink)
{
    auto limit = news::clock::now() + unwatched;
    bool watching = false;
    while (!sink->ended() && !sink->closed()) {
        co_await sink->wait(limit);
        sink->take_text();
        if (watching || news::clock::now() < limit) continue;
        watching = true;
        limit = news::clock::time_point::max();
        x.watch([weak = std::weak_ptr(sink)] {
            if (auto waits = weak.lock()) waits->close();
        });
    }
    if (watching) x.unwatch();
    if (x.gone()) co_return;
    auto reply = reply_of(*sink);
    co_await x.reply(std::move(reply));
}

awaitable<> rest_tools::stream(exchange& x, std::shared_ptr<rest_sink> sink)
{
    x.watch([weak = std::weak_ptr(sink)] {
        if (auto waits = weak.lock()) waits->close();
    });
    exchange::fields fields{{"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}};
    bool delivered = co_await x.begin_stream("text/event-stream", std::move(fields), ": running\n\n");
    auto body = x.body();
    while (delivered && !sink->ended() && !sink->closed()) {
        const auto limit = news::clock::now() + chosen_.keep_alive;
        co_await sink->wait(limit);
        const std::string text = sink->take_text();
        std::string frames;
        if (!text.empty())
            append_event(frames, "output", jsonrpc::write_json(json::object{{"text", text}}), std::nullopt);
        else if (news::clock::now() >= limit) frames = ": keep-alive\n\n";
        if (!frames.empty()) delivered = co_await body.write(frames);
    }
    if (!delivered || x.gone()) co_return;
    const auto reply = reply_of(*sink);
    std::string last;
    append_event(last, "result", reply.body, std::nullopt);
    co_await body.write(last);
    co_await body.end();
}

awaitable<> rest_tools::describe(exchange& x)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(openapi_of(core_.tools(), CMCP_VERSION));
    reply.with("Cache-Control", "no-cache");
    co_await x.reply(std::move(reply));
}

}  // namespace cmcp
