#include "http/metrics_route.hpp"

#include "metrics/process_metrics.hpp"
#include "metrics/registry.hpp"

namespace cmcp {

namespace {

awaitable<> answer_metrics(exchange& x)
{
    http_reply reply;
    reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
    reply.body = metrics::all().text();
    reply.with("Cache-Control", "no-store");
    co_await x.reply(std::move(reply));
}

}  // namespace

void add_metrics_route(router& routes)
{
    metrics::observe_process();
    routes.add("GET", "/metrics", answer_metrics);
}

}  // namespace cmcp
