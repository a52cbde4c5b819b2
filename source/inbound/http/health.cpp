#include "http/health.hpp"
#include "jsonrpc/write_json.hpp"
#include "metrics/registry.hpp"
#include "prebuilt/version.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <utility>

namespace cmcp {

namespace {

http_reply health_reply(json::object body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

json::object health_body(std::string_view status)
{
    json::object body;
    body["status"] = status;
    body["version"] = CMCP_VERSION;
    return body;
}

awaitable<> answer_live(exchange& x) { return x.reply(health_reply(health_body("ok"))); }

awaitable<> answer_ready(exchange& x, readiness_check ready, std::function<json::object()> details)
{
    std::vector<std::string> reasons;
    if (ready) reasons = co_await ready();
    auto body = health_body(reasons.empty() ? "ok" : "unready");
    if (!reasons.empty()) body["reasons"] = json::array(reasons.begin(), reasons.end());
    if (x.request().parameter("verbose"))
        for (auto& detail : details()) body[detail.key()] = std::move(detail.value());
    auto reply = health_reply(std::move(body));
    if (!reasons.empty()) reply.status = 503;
    co_await x.reply(std::move(reply));
}

awaitable<> answer_metrics(exchange& x, std::shared_ptr<const metrics_sources> from)
{
    if (from->update) co_await from->update();
    http_reply reply;
    reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    const std::string_view left_out = from->sees_principals(x.request()) ? "" : "cmcp_principal_";
    metrics::registry::cursor at;
    while (metrics::all().append_part(reply.body, at, left_out)) co_await asio::post(asio::use_awaitable);
    reply.with("Cache-Control", "no-store");
    co_await x.reply(std::move(reply));
}

}  // namespace

void add_health_routes(router& routes, readiness_check ready, std::function<json::object()> details)
{
    routes.add({.methods = {"GET", "HEAD"},
                .path = "/healthz",
                .serve = [ready, details](exchange& x) { return answer_ready(x, ready, details); },
                .access = route_access::probe});
    routes.add({.methods = {"GET", "HEAD"}, .path = "/livez", .serve = answer_live, .access = route_access::probe});
}

void add_metrics_route(router& routes, metrics_sources from)
{
    metrics::observe_process();
    const auto shared = std::make_shared<const metrics_sources>(std::move(from));
    routes.add(
        {.methods = {"GET"}, .path = "/metrics", .serve = [shared](exchange& x) { return answer_metrics(x, shared); }});
}

}  // namespace cmcp
