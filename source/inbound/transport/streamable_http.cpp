#include "transport/streamable_http.hpp"

#include "config/settings.hpp"
#include "http/endpoint_address.hpp"
#include "http/member_caller.hpp"
#include "mcp/header_check.hpp"
#include "mcp/reserved_names.hpp"
#include "transport/idempotency_field.hpp"
#include "transport/profile_choice.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/start_in_turns.hpp"
#include "transport/stream_writer.hpp"

#include <algorithm>
#include <utility>

namespace cmcp {

using std::chrono::milliseconds;

namespace {

// From 2025-11-25 on a stream can be resumed before its first message: begin it early, for calls that take longer.
constexpr milliseconds resumable_after(1000);

bool is_initialize(const jsonrpc::payload& received)
{
    if (received.batch || received.messages.size() != 1) return false;
    const auto* request = std::get_if<jsonrpc::request>(&received.messages.front());
    return request != nullptr && request->method == "initialize";
}

bool names_modern(const http_request& request)
{
    auto named = parse_revision(request.header("mcp-protocol-version").value_or(""));
    return named && is_modern(*named);
}

json::value id_of(const jsonrpc::payload& received)
{
    const auto* request = received.batch || received.messages.empty()
                              ? nullptr
                              : std::get_if<jsonrpc::request>(&received.messages.front());
    return request == nullptr ? json::value(nullptr) : request->id;
}

std::optional<http_reply> refuse_version(const http_request& request)
{
    auto named = request.header("mcp-protocol-version");
    if (!named) return std::nullopt;
    auto known = parse_revision(*named);
    if (known && !is_modern(*known)) return std::nullopt;
    rpc_error error(rpc_code::server_error,
                    "MCP-Protocol-Version names a revision that this session cannot speak; send the one "
                    "that initialize agreed on.");
    return rpc_error_reply(400, nullptr, error);
}

bool can_be_polled(const http_session& from) { return from.state->who.protocol >= revision::v2025_11_25; }

// Both are required in every request (basic, "_meta").
bool has_envelope(const jsonrpc::request& request)
{
    const auto* meta = request.params.if_contains("_meta");
    if (meta == nullptr || !meta->is_object()) return false;
    const auto* version = meta->get_object().if_contains("io.modelcontextprotocol/protocolVersion");
    const auto* capabilities = meta->get_object().if_contains("io.modelcontextprotocol/clientCapabilities");
    return version != nullptr && version->is_string() && capabilities != nullptr && capabilities->is_object();
}

// A request that is wrong as such is an HTTP error; the way in which it ended once it ran is not.
int status_of(int code, bool envelope)
{
    switch (code) {
        case rpc_code::method_not_found:
            return 404;
        case rpc_code::parse_error:
        case rpc_code::invalid_request:
        case rpc_code::header_mismatch:
        case rpc_code::missing_client_capability:
        case rpc_code::unsupported_protocol_version:
            return 400;
        case rpc_code::server_busy:
            return 503;
        case rpc_code::invalid_params:
            return envelope ? 200 : 400;
        default:
            return 200;
    }
}

awaitable<> answer_batch(server_core& core, std::vector<jsonrpc::message> requests, peer by, stream_writer writer)
{
    co_await start_in_turns(core, std::move(requests), std::move(by));
    co_await stream_writer::run(std::move(writer));
}

http_reply refuse_event_id()
{
    rpc_error error(rpc_code::server_error,
                    "Last-Event-ID names no stream of this session that could go on: all of it was sent before, it is "
                    "forgotten (1 MiB a session, 10 minutes, a restart of the server), or the id is not one of this "
                    "server. Send the request again, or GET without Last-Event-ID.");
    return rpc_error_reply(400, nullptr, error);
}

// The name goes with the call wherever it is passed on.
void name_call(jsonrpc::message& of, const std::string& key)
{
    auto* call = std::get_if<jsonrpc::request>(&of);
    if (call == nullptr || call->method != "tools/call") return;
    auto& meta = call->params["_meta"];
    if (!meta.is_object()) meta.emplace_object();
    meta.get_object()[reserved_name::idempotency_key] = key;
}

peer peer_of(const http_request& request, const settings& config)
{
    peer from{.who = caller_of(request), .payer = request.payer()};
    from.who.address = address_used(request, config);
    const auto& member = request.member;
    if (!member || !member->of_message) return from;
    from.passed_on = true;
    from.spoken = parse_revision(member->revision);
    from.who.profile = member->profile;
    from.who.address = member->server;
    from.is_program = member->is_program;
    return from;
}

}  // namespace

void streamable_http::add_routes(router& routes)
{
    const auto add = [&routes](std::string_view method, route::handler serve, route_body body) {
        routes.add(
            {.methods = {method},
             .path = "/mcp",
             .serve = std::move(serve),
             .body = body,
             .takes_long_json = body == route_body::json,
             .handle = [](const http_request& by) { return std::string(by.header("mcp-session-id").value_or("")); },
             .rpc_errors = true});
    };
    add(
        "POST", [this](exchange& x) { return post(x); }, route_body::json);
    add(
        "GET", [this](exchange& x) { return get(x); }, route_body::none);
    add(
        "DELETE", [this](exchange& x) { return remove(x); }, route_body::none);
}

// No coroutine, nor is what it calls where it need not be: a call has fewer frames, and a stream that waits holds none.
awaitable<> streamable_http::post(exchange& x)
{
    auto accepted = parse_accept(x.request().header("accept"));
    if (!accepted.json && !accepted.events)
        return x.reply(error_reply(406, "Accept must name application/json and text/event-stream."));
    if (auto unknown = refuse_profile(x.request(), core_.tools())) return x.reply(std::move(*unknown));
    jsonrpc::payload received;
    auto refused = decode_body(x.request(), config_, received);
    bool single = !refused && !received.batch && received.messages.size() == 1;
    bool claimed = single && claims_stateless(received.messages.front());
    if (!refused && !claimed && names_modern(x.request())) {
        rpc_error error(single ? rpc_code::invalid_params : rpc_code::invalid_request,
                        "Revision 2026-07-28 needs a single message whose params._meta holds "
                        "io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities.");
        refused = rpc_error_reply(400, id_of(received), error);
    }
    if (!refused) refused = refuse_scopes(x.request(), config_, core_.tools(), received.messages);
    std::string key;
    if (!refused) refused = take_idempotency_key(x.request(), key);
    if (refused) return x.reply(std::move(*refused));
    if (single && !key.empty()) name_call(received.messages.front(), key);
    if (claimed) return serve_stateless(x, std::move(received.messages.front()), accepted);
    return serve_session(x, std::move(received), accepted);
}

awaitable<> streamable_http::serve_stateless(exchange& x, jsonrpc::message received, accepted_types accepted)
{
    auto* call = std::get_if<jsonrpc::request>(&received);
    if (call == nullptr) {
        // There is nothing that a notification could refer to: closing the stream cancels.
        http_reply taken;
        taken.status = 202;
        return x.reply(std::move(taken));
    }
    auto header = [&fields = x.request()](std::string_view name) { return fields.header(name); };
    const bool of_message = x.request().member && x.request().member->of_message;
    auto mismatch = of_message ? std::nullopt : header_mismatch(core_.tools(), *call, header);
    if (mismatch) return x.reply(rpc_error_reply(400, call->id, *mismatch));
    return answer_stateless(x, std::move(*call), accepted);
}

awaitable<> streamable_http::answer_stateless(exchange& x, jsonrpc::request request, accepted_types accepted)
{
    auto memory = sessions_.budget()->of(x.request().principal);
    auto stream = std::make_shared<event_stream>(x.executor(), event_stream::options{.memory = std::move(memory)});
    auto who = stream->attach();
    stream->expect_requests(1);
    stream_options options;
    options.json = accepted.json;
    options.sse = accepted.events;
    options.patience = options.keep_alive = config_.keep_alive;
    options.status_of = [envelope = has_envelope(request)](int code) { return status_of(code, envelope); };
    stream_writer writer(x, stream, who, std::move(options));
    auto from = peer_of(x.request(), config_);
    from.reply = std::move(stream);
    writer.cancel_at_end(core_.start(std::move(request), std::move(from)));  // the client closes the stream to cancel
    return stream_writer::run(std::move(writer));
}

std::shared_ptr<http_session> streamable_http::session_of(const http_request& request, http_reply& refusal) const
{
    auto id = request.header("mcp-session-id");
    if (!id) {
        rpc_error error(rpc_code::server_error,
                        "Mcp-Session-Id is missing: send initialize first, then its session id.");
        refusal = rpc_error_reply(400, nullptr, error);
        return nullptr;
    }
    auto known = sessions_.find(*id, request.principal);
    if (known && std::exchange(known->returned, false)) {
        known->state->who.scopes = shown_scopes(request);
        known->state->who.address = address_used(request, config_);
    }
    if (known && !known->sse) return known;
    refusal = session_not_found();
    return nullptr;
}

// A session id that comes with initialize is ignored: a client cannot choose one (session fixation).
std::shared_ptr<http_session> streamable_http::session_for(const http_request& request,
                                                           const jsonrpc::payload& received, http_reply& refusal)
{
    if (!is_initialize(received)) {
        auto known = session_of(request, refusal);
        auto refused = known ? refuse_version(request) : std::nullopt;
        if (known && !refused) refused = refuse_batch(received, known->state->who.protocol);
        if (refused) refusal = std::move(*refused);
        return refused ? nullptr : known;
    }
    return open_session(request, config_, core_, sessions_, false, refusal);
}

awaitable<> streamable_http::serve_session(exchange& x, jsonrpc::payload received, accepted_types accepted)
{
    http_reply refusal;
    bool begins = is_initialize(received);
    auto from = session_for(x.request(), received, refusal);
    if (!from) {
        co_await x.reply(std::move(refusal));
        co_return;
    }
    const auto other = [](const jsonrpc::message& message) {
        return !std::holds_alternative<jsonrpc::request>(message);
    };
    for (auto& each : received.messages)
        if (other(each)) core_.start(std::move(each), {.era = era_of_peer::session, .client = from->state});
    std::erase_if(received.messages, other);
    if (received.messages.empty()) {
        refusal.status = 202;
        co_await x.reply(std::move(refusal));
        co_return;
    }
    co_await answer_requests(x, from, std::move(received), accepted);
    from->forget_ended_streams();
    if (begins && !from->state->initialized) sessions_.drop(from);
}

awaitable<> streamable_http::answer_requests(exchange& x, std::shared_ptr<http_session> from, jsonrpc::payload requests,
                                             accepted_types accepted)
{
    bool begins = !from->state->initialized;
    auto stream = from->open_stream(x.executor());
    auto who = stream->attach();
    stream->expect_requests(requests.messages.size());
    stream_options options;
    options.json = accepted.json;
    options.sse = accepted.events;
    options.batch = requests.batch;
    options.status_of = [](int code) { return code == rpc_code::server_busy ? 503 : 200; };
    options.prime = !begins && can_be_polled(*from);
    options.patience = options.prime ? std::min(config_.keep_alive, resumable_after) : config_.keep_alive;
    options.keep_alive = config_.keep_alive;
    if (begins) options.fields_if_ok.emplace_back("Mcp-Session-Id", from->id);
    stream_writer writer(x, stream, who, std::move(options));
    peer by{
        .era = era_of_peer::session, .client = from->state, .reply = std::move(stream), .payer = x.request().payer()};
    from.reset();
    if (requests.batch) return answer_batch(core_, std::move(requests.messages), std::move(by), std::move(writer));
    core_.start(std::move(requests.messages.front()), std::move(by));
    return stream_writer::run(std::move(writer));
}

awaitable<> streamable_http::get(exchange& x)
{
    // Clients probe with GET before they have a session and take nothing but 405 as "no stream here".
    http_reply refusal = method_not_allowed("POST, GET, DELETE");
    bool probes = !x.request().header("mcp-session-id") || names_modern(x.request());
    auto from = probes ? nullptr : session_of(x.request(), refusal);
    if (from && !parse_accept(x.request().header("accept")).events) {
        refusal = error_reply(406, "Accept must name text/event-stream.");
        from = nullptr;
    }
    return from ? listen(x, *from) : x.reply(std::move(refusal));
}

// The GET stream, or the stream that Last-Event-ID names.
awaitable<> streamable_http::listen(exchange& x, http_session& from)
{
    auto options = held_open(config_, {});
    const auto named = x.request().header("last-event-id").value_or("");
    const auto last = parse_event_id(named);
    auto stream = named.empty() ? from.general : last ? from.find_stream(x.executor(), *last) : nullptr;
    if (!stream) return x.reply(refuse_event_id());
    options.prime = named.empty() && can_be_polled(from);
    auto who = last ? stream->attach_after(last->sequence) : stream->attach();
    return stream_writer::run(stream_writer(x, std::move(stream), who, std::move(options)));
}

awaitable<> streamable_http::remove(exchange& x)
{
    http_reply answer;
    answer.status = 204;
    auto gone = session_of(x.request(), answer);
    if (gone) sessions_.drop(gone);
    co_await x.reply(std::move(answer));
}

}  // namespace cmcp
