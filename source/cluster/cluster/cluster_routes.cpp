#include "cluster/cluster_routes.hpp"

#include "administration/admin_change.hpp"
#include "cluster/cluster.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/read_object.hpp"
#include "sandboxes/http_refusals.hpp"

#include <string>
#include <utility>

namespace cmcp {

namespace {

void add_load(json::object& row, const json::object& load)
{
    for (const auto& each : load)
        if (each.key() != "told") row[each.key()] = each.value();
    row["pressure"] = pressure_of(read_load(load));
}

json::object description_of(const cluster& all)
{
    json::object answer;
    answer["node"] = all.all.own().name;
    answer["in_touch"] = all.lease.is_in_touch();
    json::array& rows = answer["members"].emplace_array();
    const auto add = [&](const cluster_member& member, const json::object* load, std::string_view state) {
        json::object row;
        row["name"] = member.name;
        row["host"] = member.host;
        row["state"] = load != nullptr && flag_of(*load, "drains") ? "drains" : state;
        if (load != nullptr) add_load(row, *load);
        rows.push_back(std::move(row));
    };
    const auto own_load = all.load();
    add(all.all.own(), &own_load, "up");
    for (const auto& each : all.all.others()) add(each, all.all.about(each.name), "up");
    for (const auto& name : all.all.lost()) add(*all.all.other(name), nullptr, "gone");
    return answer;
}

json::array columns_of_members()
{
    return columns_of({{"name", "word", "Node"},
                       {"state", "word", "State"},
                       {"runs", "part", "Runs", "max_runs"},
                       {"runs_waiting", "number", "Wait"},
                       {"sandboxes", "number", "Boxes"},
                       {"homes", "number", "Workspaces"},
                       {"memory_available", "used", "Memory", "memory"},
                       {"disk_available", "used", "Disk", "disk"},
                       {"pressure", "share", "Pressure"},
                       {"labels", "pairs", "Labels"},
                       {"version", "text", "Version"}});
}

awaitable<json::object> list_members(admin_pages_ptr self, const cluster* all)
{
    if (all != nullptr) co_return description_of(*all);
    co_return json::object{{"node", self->nodes.node}, {"members", json::array()}};
}

sandbox_moves& moves_of(cluster* all)
{
    if (all == nullptr) throw http_refusal(409, "This server is alone: CLUSTER_ETCD is not set.", "StateError");
    return all->moves;
}

awaitable<> move_sandbox(exchange& x, cluster* all)
{
    auto sandbox = x.request().parameter("sandbox").value_or("");
    auto to = x.request().parameter("to").value_or("");
    http_reply reply;
    try {
        auto node = co_await moves_of(all).move(sandbox, std::move(to));
        reply = uncached_reply({{"sandbox", sandbox}, {"node", std::move(node)}});
    } catch (const std::runtime_error&) {
        reply = reply_to_refusal(std::current_exception());
    }
    co_await x.reply(std::move(reply));
}

awaitable<> drain(exchange& x, cluster* all, bool on)
{
    auto& moves = moves_of(all);
    moves.drain(on);
    return x.reply(uncached_reply({{"drains", on}, {"sandboxes", moves.left()}}));
}

awaitable<> rebalance(exchange& x, cluster* all)
{
    const auto moved = co_await moves_of(all).rebalance();
    auto reply = uncached_reply({{"moved", moved}});
    co_await x.reply(std::move(reply));
}

// ---------------------------------------------------------------- of other members
http_reply yes_or_no(bool yes)
{
    http_reply answer;
    answer.body = yes ? R"({"yes":true})" : R"({"yes":false})";
    return answer;
}

awaitable<> take_sandbox(exchange& x, cluster& all)
{
    std::string from(x.request().certified_name());
    auto sandbox = x.request().parameter("sandbox").value_or("");
    http_reply answer;
    try {
        const bool is_taken = co_await all.moves.take(std::move(from), std::move(sandbox));
        answer = yes_or_no(is_taken);
    } catch (const std::runtime_error&) {
        answer = reply_to_refusal(std::current_exception());
    }
    co_await x.reply(std::move(answer));
}

awaitable<> take_list_change(exchange& x, cluster& all)
{
    const auto list = x.request().parameter("list").value_or("");
    return x.reply(yes_or_no(all.take_list_change(x.request().certified_name(), list)));
}

}  // namespace

void add_cluster_routes(router& routes, const admin_pages_ptr& self, cluster* all)
{
    const auto add = [&](const char* method, const char* path, admin_route::handler serve, const char* id,
                         const char* summary, const char* member, json::array parameters) {
        add_admin_route(
            routes, self,
            {method, path, {}, std::move(serve), scope::admin, id, summary, member, "", std::move(parameters)});
    };
    add_admin_route(routes, self,
                    {"GET",
                     "/admin/cluster",
                     [all](const http_request&, admin_pages_ptr pages) { return list_members(std::move(pages), all); },
                     {},
                     scope::admin,
                     "show_cluster",
                     "The servers that work as one",
                     "members",
                     "",
                     {},
                     {{"members", columns_of_members()}}});
    add("POST", "/admin/cluster/move", [all](exchange& x, const admin_pages_ptr&) { return move_sandbox(x, all); },
        "move_sandbox", "Move a sandbox to another server", "node",
        {query_parameter_of("sandbox", "Its handle", "string"),
         query_parameter_of("to", "A member's name; without it, one with room", "string")});
    add("POST", "/admin/cluster/drain", [all](exchange& x, const admin_pages_ptr&) { return drain(x, all, true); },
        "drain", "Give all sandboxes away", "drains", {});
    add("DELETE", "/admin/cluster/drain", [all](exchange& x, const admin_pages_ptr&) { return drain(x, all, false); },
        "undrain", "Take sandboxes again", "drains", {});
    add("POST", "/admin/cluster/rebalance", [all](exchange& x, const admin_pages_ptr&) { return rebalance(x, all); },
        "rebalance", "Give away what others have fewer of", "moved", {});
}

void add_member_routes(router& routes, cluster& all)
{
    routes.add({.methods = {"POST"},
                .path = "/member/take",
                .serve = [&all](exchange& x) { return take_sandbox(x, all); },
                .access = route_access::open});
    routes.add({.methods = {"POST"},
                .path = "/member/changed",
                .serve = [&all](exchange& x) { return take_list_change(x, all); },
                .access = route_access::open});
}

}  // namespace cmcp
