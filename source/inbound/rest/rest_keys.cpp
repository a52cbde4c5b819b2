#include "administration/admin_change.hpp"
#include "config/server_settings.hpp"
#include "identity/key_order.hpp"
#include "jsonrpc/read_object.hpp"
#include "rest/rest_routes.hpp"
#include "text/time_text.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

namespace {

std::vector<std::string> words_of(const json::object& body, std::string_view name)
{
    std::vector<std::string> words;
    const auto* all = body.if_contains(name);
    if (all == nullptr) return words;
    if (!all->is_array()) throw std::invalid_argument(std::string(name) + " must be an array of texts as runs=2");
    for (const auto& each : all->get_array()) {
        if (!each.is_string()) throw std::invalid_argument(std::string(name) + " must be an array of texts as runs=2");
        words.emplace_back(each.get_string());
    }
    return words;
}

key_order order_in(const json::object& body)
{
    key_order wanted;
    wanted.principal = text_of(body, "principal");
    if (body.contains("scopes")) wanted.scopes = text_of(body, "scopes");
    wanted.profile = text_of(body, "profile");
    wanted.networks = text_of(body, "networks");
    wanted.lasts = text_of(body, "lasts");
    wanted.note = text_of(body, "note");
    wanted.limits = words_of(body, "limits");
    return wanted;
}

using open_store = std::function<identity_store&()>;

awaitable<> list_keys(exchange& x, identity_store& store)
{
    json::array rows;
    for (const auto& key : store.keys()) rows.push_back(describe(key));
    return x.reply(uncached_reply({{"keys", std::move(rows)}}));
}

awaitable<> create_key(exchange& x, identity_store& store)
{
    const auto fresh = make_key(store, order_in(jsonrpc::read_object(x.request().body, 8)), seconds_since_1970());
    auto row = describe(fresh.record);
    row["key"] = fresh.key.text();
    note_admin_change(x, "key_created", fresh.record.id + " of " + fresh.record.principal);
    return x.reply(uncached_reply(row));
}

awaitable<> revoke_key(exchange& x, identity_store& store)
{
    const auto id = last_part_of_path(x.request());
    if (!store.find(id)) return x.reply(error_reply(404, "There is no key of this id; GET /admin/keys lists them."));
    const bool ended = store.revoke(id, seconds_since_1970());
    note_admin_change(x, "key_revoked", id);
    return x.reply(uncached_reply({{"ended", ended}}));
}

awaitable<> list_quotas(exchange& x, identity_store& store)
{
    json::array rows;
    for (const auto& each : store.limits())
        rows.push_back({{"principal", each.principal}, {"name", each.name}, {"value", each.value}});
    return x.reply(uncached_reply({{"quotas", std::move(rows)}}));
}

// The limits that are named take the place of earlier ones, the others stay; without any all are taken back.
awaitable<> set_quota(exchange& x, identity_store& store)
{
    const auto principal = last_part_of_path(x.request());
    check_principal_name(principal);
    const auto limits = parse_limits(words_of(jsonrpc::read_object(x.request().body, 8), "limits"));
    for (const auto& own : limits) store.set_limit({principal, std::string(own.of->name), own.value});
    if (limits.empty())
        for (const auto& each : store.limits_of(principal)) store.clear_limit(principal, each.name);
    std::string change = principal;
    for (const auto& own : limits)
        change.append(" ").append(own.of->name).append("=").append(std::to_string(own.value));
    note_admin_change(x, "quota_set", change);
    return x.reply(uncached_reply({{"principal", principal}, {"limits", limits.size()}}));
}

struct key_route {
    const char* method;
    const char* path;
    awaitable<> (*serve)(exchange&, identity_store&);
    const char* id;
    const char* summary;
    const char* member;
    json::object (*takes)() = nullptr;  // schema of the body
};

json::object text_schema(std::string_view description, std::string_view example)
{
    return {{"type", "string"}, {"description", description}, {"examples", json::array{json::value(example)}}};
}

json::object limits_schema()
{
    return {{"type", "array"},
            {"items", {{"type", "string"}}},
            {"description", "name=number; container-mcp quota names lists the names"},
            {"examples", json::array{json::array{"runs=2", "calls=60"}}}};
}

json::object schema_of_key()
{
    json::object properties;
    properties["principal"] = text_schema("What is made with the key belongs to this name", "robot");
    properties["scopes"] = text_schema("Between blanks; every ordinary one by default", "mcp:read mcp:run");
    properties["lasts"] = text_schema("12h, 90d, 1y; until it is revoked by default", "90d");
    properties["networks"] = text_schema("From where it may be used", "10.0.0.0/8");
    properties["profile"] = text_schema("The tools that clients are shown", "agent");
    properties["note"] = text_schema("For people", "CI of the website");
    properties["limits"] = limits_schema();
    return {{"type", "object"}, {"required", json::array{"principal"}}, {"properties", std::move(properties)}};
}

json::object schema_of_quota()
{
    return {{"type", "object"}, {"required", json::array{"limits"}}, {"properties", {{"limits", limits_schema()}}}};
}

const key_route key_table[] = {
    {"GET", "/admin/keys", list_keys, "list_keys", "API keys, without their secrets", "keys"},
    {"POST", "/admin/keys", create_key, "create_key", "Make an API key; its text is shown this once", "key",
     schema_of_key},
    {"DELETE", "/admin/keys/*", revoke_key, "revoke_key", "Revoke an API key", "ended"},
    {"GET", "/admin/quotas", list_quotas, "list_quotas", "Limits that principals have of their own", "quotas"},
    {"PUT", "/admin/quotas/*", set_quota, "set_quota", "Give a principal limits of its own; [] takes them back",
     "limits", schema_of_quota},
};

awaitable<> serve_key_route(exchange& x, const key_route& of, const open_store& store)
{
    std::string problem;
    try {
        return of.serve(x, store());
    } catch (const std::invalid_argument& wrong) {
        problem = wrong.what();
    }
    return x.reply(error_reply(400, problem, "InvalidArgument"));
}

route_operation describe_key_route(const key_route& of)
{
    return admin_operation(of.path, of.id, of.summary, of.member, of.takes == nullptr ? json::object() : of.takes());
}

}  // namespace

void add_key_routes(router& routes, const server_settings& config)
{
    const open_store store = opened_at_first_use<identity_store>(identity_store::file_in(config.sandbox_root));
    for (const auto& each : key_table)
        routes.add({.methods = {each.method},
                    .path = each.path,
                    .serve = [&each, store](exchange& x) { return serve_key_route(x, each, store); },
                    .needs = scope::admin,
                    .body = route_body::optional_json,
                    .audit = route_audit::changes,
                    .by_browser = true,
                    .operations = [&each](const http_request&) { return std::vector{describe_key_route(each)}; }});
}

}  // namespace cmcp
