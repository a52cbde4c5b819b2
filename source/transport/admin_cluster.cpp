#include "transport/admin_cluster.hpp"

#include "http/file_gateway.hpp"
#include "jsonrpc/write_json.hpp"

namespace cmcp {

namespace {

http_reply cluster_reply(const json::object& body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

http_reply cluster_refusal(const gateway_error& problem)
{
    return error_reply(problem.status, problem.what(), problem.type);
}

http_reply alone() { return error_reply(409, "This server is alone: CLUSTER_MEMBERS names no others.", "StateError"); }

}  // namespace

awaitable<> move_to_other(exchange& x, cluster_gateway* all)
{
    auto answer = alone();
    auto sandbox = x.request().parameter("sandbox").value_or("");
    auto to = x.request().parameter("to").value_or("");
    try {
        json::object done;
        if (all != nullptr) done = co_await all->move(std::move(sandbox), std::move(to));
        if (all != nullptr) answer = cluster_reply(done);
    } catch (const gateway_error& problem) {
        answer = cluster_refusal(problem);
    }
    co_await x.reply(std::move(answer));
}

awaitable<> drain(exchange& x, cluster_gateway* all, bool on)
{
    return x.reply(all == nullptr ? alone() : cluster_reply(all->drain(on)));
}

awaitable<> rebalance(exchange& x, cluster_gateway* all)
{
    auto answer = alone();
    try {
        json::object done;
        if (all != nullptr) done = co_await all->rebalance();
        if (all != nullptr) answer = cluster_reply(done);
    } catch (const gateway_error& problem) {
        answer = cluster_refusal(problem);
    }
    co_await x.reply(std::move(answer));
}

}  // namespace cmcp
