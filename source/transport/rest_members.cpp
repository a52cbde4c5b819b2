#include "transport/rest_routes.hpp"

namespace cmcp {

namespace {

http_reply yes_or_no(bool yes)
{
    http_reply answer;
    answer.body = yes ? R"({"yes":true})" : R"({"yes":false})";
    return answer;
}

}  // namespace

void add_member_routes(router& routes, watch_gateway& watch)
{
    const auto beat = [&watch](exchange& x) {
        return x.reply(yes_or_no(watch.take_beat(x.request().certified_name())));
    };
    const auto vote = [&watch](exchange& x) {
        const auto about = x.request().parameter("about").value_or("");
        return x.reply(yes_or_no(watch.vote(x.request().certified_name(), about)));
    };
    routes.add({.methods = {"POST"}, .path = "/member/beat", .serve = beat, .access = route_access::open});
    routes.add({.methods = {"POST"}, .path = "/member/vote", .serve = vote, .access = route_access::open});
}

}  // namespace cmcp
