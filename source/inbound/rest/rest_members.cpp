#include "rest/rest_routes.hpp"

namespace cmcp {

namespace {

http_reply yes_or_no(bool yes)
{
    http_reply answer;
    answer.body = yes ? R"({"yes":true})" : R"({"yes":false})";
    return answer;
}

awaitable<> take_beat(exchange& x, cluster_gateway& all)
{
    return x.reply(yes_or_no(all.take_beat(x.request().certified_name())));
}

awaitable<> vote(exchange& x, cluster_gateway& all)
{
    const auto about = x.request().parameter("about").value_or("");
    return x.reply(yes_or_no(all.vote(x.request().certified_name(), about)));
}

awaitable<> take_sandbox(exchange& x, cluster_gateway& all)
{
    std::string from(x.request().certified_name());
    auto sandbox = x.request().parameter("sandbox").value_or("");
    auto answer = yes_or_no(false);
    try {
        const bool is_taken = co_await all.take(std::move(from), std::move(sandbox));
        answer = yes_or_no(is_taken);
    } catch (const gateway_error& problem) {
        answer = error_reply(problem.status, problem.what(), problem.type);
    }
    co_await x.reply(std::move(answer));
}

awaitable<> take_list_change(exchange& x, cluster_gateway& all)
{
    const auto list = x.request().parameter("list").value_or("");
    return x.reply(yes_or_no(all.take_list_change(x.request().certified_name(), list)));
}

struct member_route {
    const char* path;
    awaitable<> (*serve)(exchange&, cluster_gateway&);
};

constexpr member_route member_table[] = {
    {"/member/beat", take_beat},
    {"/member/vote", vote},
    {"/member/take", take_sandbox},
    {"/member/changed", take_list_change},
};

}  // namespace

void add_member_routes(router& routes, cluster_gateway& all)
{
    for (const auto& each : member_table) {
        const auto serve = [&all, serves = each.serve](exchange& x) { return serves(x, all); };
        routes.add({.methods = {"POST"}, .path = each.path, .serve = serve, .access = route_access::open});
    }
}

}  // namespace cmcp
