#include "transport/http_sse.hpp"

#include "config/settings.hpp"
#include "http/endpoint_address.hpp"
#include "transport/profile_choice.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/start_in_turns.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

namespace {

std::string endpoint_event(const http_request& request, const std::string& public_url, std::string_view id)
{
    std::string event;
    append_event(event, "endpoint", endpoint_address(request, public_url, id), std::nullopt);
    return event;
}

}  // namespace

void http_sse::add_routes(router& routes)
{
    routes.add(
        {.methods = {"GET"}, .path = "/sse", .serve = [this](exchange& x) { return open(x); }, .rpc_errors = true});
    const auto add_post = [this, &routes](std::string path) {
        routes.add({.methods = {"POST"},
                    .path = std::move(path),
                    .serve = [this](exchange& x) { return post(x); },
                    .body = route_body::json,
                    .takes_long_json = true,
                    .handle = [](const http_request& by) { return by.parameter("sessionId").value_or(""); },
                    .rpc_errors = true});
    };
    add_post("/messages");
    // A client that comes past the proxy gets the same address from the endpoint event.
    const std::string prefix = path_of(config_.public_url);
    if (!prefix.empty()) add_post(prefix + "/messages");
}

std::shared_ptr<http_session> http_sse::make_session(const http_request& request, http_reply& refusal)
{
    if (!parse_accept(request.header("accept")).events) {
        refusal = error_reply(406, "Accept must name text/event-stream.");
        return nullptr;
    }
    if (auto unknown = refuse_profile(request, core_.tools())) {
        refusal = std::move(*unknown);
        return nullptr;
    }
    return open_session(request, config_, core_, sessions_, true, refusal);
}

awaitable<> http_sse::open(exchange& x)
{
    http_reply refusal;
    auto opened = make_session(x.request(), refusal);
    return opened ? hold(x, std::move(opened)) : x.reply(std::move(refusal));
}

awaitable<> http_sse::hold(exchange& x, std::shared_ptr<http_session> opened)
{
    auto stream = opened->general;
    auto who = stream->attach();
    auto options = held_open(config_, endpoint_event(x.request(), config_.public_url, opened->id));
    stream_writer writer(x, std::move(stream), who, std::move(options));
    writer.cancel_at_end(opened);
    return stream_writer::run(std::move(writer));
}

awaitable<> http_sse::post(exchange& x)
{
    jsonrpc::payload received;
    auto id = x.request().parameter("sessionId");
    auto to = id ? sessions_.find(*id, x.request().principal) : nullptr;
    std::optional<http_reply> refused;
    if (!id)
        refused =
            error_reply(400, "The query must name the session: use the address that the endpoint event of /sse gave.");
    else if (!to || !to->sse)
        refused = session_not_found(" Open /sse for that.");
    if (!refused) refused = decode_body(x.request(), config_, received);
    if (!refused) refused = refuse_batch(received, to->state->who.protocol);
    if (!refused) refused = refuse_scopes(x.request(), config_, core_.tools(), received.messages);
    if (refused) {
        co_await x.reply(std::move(*refused));
        co_return;
    }
    http_reply taken;
    taken.status = 202;
    taken.content_type = "text/plain";
    taken.body = "Accepted";
    auto state = to->state;
    auto stream = to->general;
    to.reset();
    co_await x.reply(std::move(taken));
    peer by{.era = era_of_peer::session,
            .client = std::move(state),
            .reply = std::move(stream),
            .payer = x.request().payer()};
    co_await start_in_turns(core_, std::move(received.messages), std::move(by));
}

}  // namespace cmcp
