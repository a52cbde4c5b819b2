#include "rest/rest_call.hpp"

#include "async/blocking_pool.hpp"
#include "async/canceller.hpp"
#include "async/sized_work.hpp"
#include "config/settings.hpp"
#include "http/challenge.hpp"
#include "http/endpoint_address.hpp"
#include "http/long_body.hpp"
#include "jsonrpc/absent.hpp"
#include "jsonrpc/json_size.hpp"
#include "jsonrpc/read_object.hpp"
#include "jsonrpc/write_json.hpp"
#include "mcp/arguments/long_arguments.hpp"
#include "mcp/call_by_name.hpp"
#include "mcp/call_history.hpp"
#include "mcp/client_meta.hpp"
#include "mcp/request_record.hpp"
#include "mcp/reserved_names.hpp"
#include "rest/rest_reply.hpp"
#include "rest/rest_sink.hpp"
#include "transport/event_writer.hpp"
#include "transport/idempotency_field.hpp"
#include "transport/profile_choice.hpp"
#include "transport/sse_frame.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace cmcp {

namespace {

// Most calls end sooner: only longer ones pay for a look at whether the client is still there.
constexpr std::chrono::milliseconds rest_unwatched(50);

// A client of REST describes itself by User-Agent alone.
json::object client_info_of(const http_request& request)
{
    json::object info;
    info["name"] = request.header("user-agent").value_or("");
    return info;
}

// The stateless revision has just what one request needs. A client that takes no events is sent the result alone.
jsonrpc::request request_for(const http_request& request, const std::string& name, json::object arguments, bool events)
{
    json::object meta;
    declare_client(meta, {}, client_info_of(request));
    if (std::string key; !take_idempotency_key(request, key) && !key.empty())
        meta[reserved_name::idempotency_key] = key;
    if (events) meta["progressToken"] = 1;
    if (events) meta[reserved_name::log_level] = "info";
    jsonrpc::request call;
    call.id = 1;
    call.method = "tools/call";
    call.params["name"] = name;
    call.params["arguments"] = std::move(arguments);
    call.params["_meta"] = std::move(meta);
    call.ids = {request.id, request.client_id(), request.origin};
    call.is_long = request.read_body != nullptr;
    if (request.read_body) call.digest = request.read_body->digest;
    return call;
}

void note_refusal(const http_request& request, const std::string& name, json::object& arguments)
{
    caller who = caller_of(request);
    who.client_info = client_info_of(request);
    json::object params(arguments.storage());
    params["name"] = name;
    params["arguments"] = std::move(arguments);
    jsonrpc::request sent{.id = nullptr, .method = "tools/call", .params = std::move(params)};
    sent.ids = {request.id, request.client_id(), request.origin};
    if (request.read_body) sent.digest = request.read_body->digest;
    running_request refused(std::move(sent), &who);
    record_refusal(refused, rpc_error(rpc_code::invalid_params, "refused before it ran"));
    arguments = std::move(refused.params.at("arguments").get_object());
}

// A client that takes JSON gets JSON.
bool wants_events(const http_request& request)
{
    const auto accepted = request.header("accept").value_or("");
    return accepted.find("text/event-stream") != std::string::npos &&
           accepted.find("application/json") == std::string::npos;
}

http_reply error_of(const rpc_error& error)
{
    const bool busy = error.code == rpc_code::server_busy;
    const bool misfit = error.code == rpc_code::invalid_params;
    auto reply = error_reply(busy ? 503 : misfit ? 400 : 500, error.what(), misfit ? "InvalidArgument" : "");
    if (busy) reply.with("Retry-After", "1");
    const auto* data = error.data ? error.data->if_object() : nullptr;
    reply.may_have_run = data != nullptr && flag_of(*data, "may_have_run");
    return reply;
}

http_reply reply_of(rest_sink& sink, std::string_view request_id)
{
    if (sink.error() != nullptr) return error_of(*sink.error());
    if (!sink.ended()) return error_reply(503, "The call was cancelled: the server is stopping.");
    return rest_reply(sink.take_result(), request_id);
}

// A large result is written on the pool, where it also ends.
awaitable<http_reply> large_reply(blocking_pool& pool, const http_request& request, json::object result)
{
    auto write = [id = request.id, result_shared = std::make_shared<json::object>(std::move(result))] {
        return rest_reply(std::move(*result_shared), id);
    };
    return pool.run(request.principal, std::move(write));
}

calling_code_ptr code_of(const http_request& request) { return request.who ? request.who->code : nullptr; }

std::optional<http_reply> refuse(server_core& core, const settings& config, const std::string& name,
                                 http_request& request)
{
    const tool* called = core.tools().find(name);
    if (called == nullptr || (called->definition().for_code_alone && !code_of(request)))
        return error_reply(404, "There is no tool \"" + name.substr(0, 100) + "\"; /docs lists them.");
    if (auto refused = refuse_scopes(request, config, called->definition().needs)) return refused;
    std::string key;
    if (auto refused = take_idempotency_key(request, key)) return refused;
    if (const std::string obstacle = called->obstacle(); !obstacle.empty())
        return error_reply(503, obstacle, "NotAvailable");
    return std::nullopt;
}

bool is_large(const rest_sink& sink, const blocking_pool* pool)
{
    return pool != nullptr && jsonrpc::is_larger(sink.result(), most_on_loop);
}

// Why the arguments are refused; empty: they are as they are meant now.
awaitable<std::string> misfit_on_pool(const http_request& request, server_core& core, std::string name,
                                      json::object& arguments)
{
    auto* const pool = core.pool().lock().get();
    if (pool == nullptr) co_return core.tools().validate(name, arguments);
    auto payer = request.payer();
    auto rules = core.tools().rules_of(name);
    auto fitted = co_await validate_on_pool(*pool, std::move(payer), std::move(rules), std::move(arguments));
    arguments = std::move(fitted.arguments);
    co_return std::move(fitted.misfit);
}

awaitable<> answer(exchange& x, std::shared_ptr<rest_sink> sink, blocking_pool* pool)
{
    auto limit = event::clock::now() + rest_unwatched;
    bool watching = false;
    while (!sink->ended() && !sink->closed()) {
        co_await sink->wait(limit);
        sink->take_events();
        if (watching || event::clock::now() < limit) continue;
        watching = true;
        limit = event::clock::time_point::max();
        x.watch([weak = std::weak_ptr(sink)] {
            if (auto waits = weak.lock()) waits->close();
        });
    }
    if (watching) x.unwatch();
    if (x.gone()) co_return;
    http_reply reply;
    if (is_large(*sink, pool))
        reply = co_await large_reply(*pool, x.request(), sink->take_result());
    else
        reply = reply_of(*sink, x.request().id);
    co_await x.reply(std::move(reply));
}

awaitable<> stream(exchange& x, std::shared_ptr<rest_sink> sink, blocking_pool* pool,
                   std::chrono::milliseconds keep_alive)
{
    x.watch([weak = std::weak_ptr(sink)] {
        if (auto waits = weak.lock()) waits->close();
    });
    exchange::fields fields{{"Cache-Control", "no-cache, no-transform"}, {"X-Accel-Buffering", "no"}};
    bool delivered = co_await x.begin_stream("text/event-stream", std::move(fields), ": running\n\n");
    auto body = x.body();
    while (delivered && !sink->ended() && !sink->closed()) {
        const auto limit = event::clock::now() + keep_alive;
        co_await sink->wait(limit);
        std::string events = sink->take_events();
        if (events.empty() && event::clock::now() >= limit) events = ": keep-alive\n\n";
        if (!events.empty()) delivered = co_await body.write(events);
    }
    if (!delivered || x.gone()) co_return;
    http_reply reply;
    if (is_large(*sink, pool))
        reply = co_await large_reply(*pool, x.request(), sink->take_result());
    else
        reply = reply_of(*sink, x.request().id);
    const std::string result = reply.problem.empty() ? reply.body : refusal_body(reply, false, x.request().id);
    std::string last = sink->take_events();
    co_await write_event(body, std::move(last), "result", result, std::nullopt);
    co_await body.end();
}

}  // namespace

namespace {

std::optional<http_reply> take_object(json::value& parsed, json::object& into)
{
    if (jsonrpc::is_absent(parsed, json::kind::object)) return std::nullopt;
    if (!parsed.is_object()) return error_reply(400, "The body must be a JSON object with the tool's arguments.");
    into = std::move(parsed.get_object());
    return std::nullopt;
}

std::optional<http_reply> take_arguments(long_body& read, json::object& into)
{
    if (!read.problem.empty()) return error_reply(400, read.problem);
    return take_object(read.value, into);
}

}  // namespace

std::optional<http_reply> read_arguments(http_request& request, std::size_t depth, json::object& into)
{
    if (request.read_body) return take_arguments(*request.read_body, into);
    const std::string body = std::exchange(request.body, {});
    if (body.find_first_not_of(" \t\r\n") == std::string::npos) return std::nullopt;
    json::parse_options limits;
    limits.max_depth = depth;
    json::error_code failure;
    json::value parsed = json::parse(body, failure, {}, limits);
    if (failure) return error_reply(400, "The body is not JSON: " + failure.message() + ".");
    return take_object(parsed, into);
}

awaitable<> refuse_call(exchange& x, std::string name, json::object arguments, http_reply refusal)
{
    note_refusal(x.request(), name, arguments);
    if (x.request().read_body) x.request().read_body->value = std::move(arguments);  // ends on the pool
    co_await x.reply(std::move(refusal));
}

namespace {

// A call of call_tool is refused, or not, as the call of the tool that it names.
void unwrap(const tool_registry& tools, std::string& name, json::object& arguments)
{
    if (name != call_tool_name) return;
    json::object params(arguments.storage());
    params["name"] = name;
    params["arguments"] = std::move(arguments);
    mean_named_tool(tools, params);
    name = params.at("name").as_string();
    arguments = std::move(params.at("arguments").as_object());
}

// The core never hears of such a call, and its history has it.
void note_misfit(call_history& history, const std::string& principal, const std::string& name,
                 const json::object& arguments, const std::string& misfit)
{
    auto refused = tool_failure(misfit);
    refused.structured["error"] = misfit;
    refused.structured["error_type"] = "InvalidArgument";
    history.note_end(principal, refused, [&] {
        return noted_call{principal, name, first_line_of(arguments), text_of(arguments, "sandbox_id")};
    });
}

}  // namespace

awaitable<> call_tool(exchange& x, server_core& core, const settings& config, std::string name, json::object arguments)
{
    if (!code_of(x.request())) unwrap(core.tools(), name, arguments);
    auto refusal = refuse(core, config, name, x.request());
    std::string misfit;
    if (!refusal && x.request().read_body)
        misfit = co_await misfit_on_pool(x.request(), core, name, arguments);
    else if (!refusal)
        misfit = core.tools().validate(name, arguments);
    if (!misfit.empty()) {
        note_misfit(core.history(), x.request().principal, name, arguments, misfit);
        refusal = error_reply(400, misfit, "InvalidArgument");
    }
    if (refusal) {
        co_await refuse_call(x, std::move(name), std::move(arguments), std::move(*refusal));
        co_return;
    }
    auto sink = std::make_shared<rest_sink>();
    const bool events = wants_events(x.request());
    auto request = request_for(x.request(), name, std::move(arguments), events);
    // The call ends with the connection.
    peer from{.who = caller_of(x.request()), .reply = sink, .payer = x.request().payer(), .is_program = true};
    from.who.address = address_used(x.request(), config);
    const canceller_at_end running(core.start(std::move(request), std::move(from)));
    if (events)
        co_await stream(x, sink, core.pool().lock().get(), config.keep_alive);
    else
        co_await answer(x, sink, core.pool().lock().get());
}

}  // namespace cmcp
