#include "audit/sink.hpp"
#include "jsonrpc/read_object.hpp"
#include "rest/rest_routes.hpp"

namespace cmcp {

namespace {

awaitable<> take_act(exchange& x)
{
    const auto act = jsonrpc::read_object(x.request().body, 4);
    const auto method = view_of(act, "method");
    if (method.empty()) return x.reply(error_reply(400, "method must say what was done.", "InvalidArgument"));
    audit::add(audit::kind::admin, {{"request", x.request().id},
                                    {"credential", "command"},
                                    {"by", log::unless_empty(view_of(act, "by"))},
                                    {"method", method},
                                    {"concerns", log::unless_empty(view_of(act, "concerns"))},
                                    {"cause", "ok"}});
    http_reply taken;
    taken.body = "{}";
    return x.reply(std::move(taken));
}

}  // namespace

void add_act_route(router& routes)
{
    routes.add({.methods = {"POST"}, .path = "/admin/acts", .serve = take_act, .body = route_body::json});
}

}  // namespace cmcp
