#include "transport/http_sse.hpp"

#include "transport/accepted_types.hpp"
#include "transport/rpc_over_http.hpp"
#include "transport/stream_writer.hpp"

namespace cmcp {

namespace {

// The session ends with its stream, however that ends.
struct session_life {
    session_store& sessions;
    std::shared_ptr<http_session> held;
    ~session_life() { sessions.drop(held); }
};

// Relative, so that it keeps the path prefix of a proxy in front.
std::string endpoint_event(std::string_view id)
{
    std::string event;
    append_event(event, "endpoint", "messages?sessionId=" + std::string(id), std::nullopt);
    return event;
}

}  // namespace

void http_sse::add_routes(router& routes)
{
    routes.add("GET", "/sse", [this](exchange& x) { return open(x); });
    routes.add("POST", "/messages", [this](exchange& x) { return post(x); });
}

std::shared_ptr<http_session> http_sse::make_session(const http_request& asked, http_reply& refusal)
{
    if (!parse_accept(asked.header("accept")).events) {
        refusal = error_reply(406, "Accept must name text/event-stream.");
        return nullptr;
    }
    session_store::refusal why{};
    auto made = sessions_.create(asked.principal, asked.address, true, why);
    if (made) core_.watch(made->state);
    else refusal = session_refused(why);
    return made;
}

// No coroutine: what only the opening needs is gone while the stream waits for hours.
awaitable<> http_sse::open(exchange& x)
{
    http_reply refusal;
    auto made = make_session(x.request(), refusal);
    return made ? hold(x, std::move(made)) : refuse(x, std::move(refusal));
}

awaitable<> http_sse::hold(exchange& x, std::shared_ptr<http_session> made)
{
    session_life life{sessions_, std::move(made)};
    auto who = life.held->general->attach();
    stream_writer writer(x, life.held->general, who, held_open(chosen_, endpoint_event(life.held->id)));
    co_await writer.run();
}

awaitable<> http_sse::post(exchange& x)
{
    jsonrpc::payload received;
    auto id = x.request().parameter("sessionId");
    auto to = id ? sessions_.find(*id, x.request().principal) : nullptr;
    std::optional<http_reply> refused;
    if (!id)
        refused = error_reply(400, "The query must name the session: use the address that the endpoint event of /sse gave.");
    else if (!to || !to->sse)
        refused = error_reply(404, "There is no such session: open /sse again.");
    if (!refused) refused = decode_body(x.request(), chosen_, received);
    if (!refused) refused = refuse_batch(received, to->state->who.protocol);
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
    for (auto& each : received.messages) {
        if (std::holds_alternative<jsonrpc::request>(each))
            requests_.spawn("request", run_request(core_, state, std::move(each), stream));
        else
            co_await core_.handle(state, std::move(each), nullptr);
    }
}

}  // namespace cmcp
