#include "http/health.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp {

namespace {

awaitable<> answer(exchange& x, std::function<json::object()> details)
{
    json::object body;
    body["status"] = "ok";
    body["version"] = CMCP_VERSION;
    if (x.request().parameter("verbose"))
        for (auto& detail : details()) body[detail.key()] = std::move(detail.value());
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    co_await x.reply(std::move(reply));
}

}  // namespace

void add_health_route(router& routes, std::function<json::object()> details)
{
    for (auto method : {"GET", "HEAD"})
        routes.add(method, "/healthz", [details](exchange& x) { return answer(x, details); });
}

}  // namespace cmcp
