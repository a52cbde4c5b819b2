#include "secrets/rest_secrets.hpp"

#include "administration/admin_change.hpp"
#include "administration/admin_gateway.hpp"
#include "config/server_settings.hpp"
#include "http/router.hpp"
#include "jsonrpc/read_object.hpp"
#include "secrets/secret_error.hpp"
#include "secrets/secret_order.hpp"
#include "text/time_text.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <openssl/crypto.h>

namespace cmcp {

namespace {

/// The store, the settings and the server that the routes work with.
struct secrets_desk {
    secret_store& store;
    const server_settings& config;
    admin_gateway& server;
};

std::string hosts_of_body(const json::object& body)
{
    const auto* hosts = body.if_contains("hosts");
    if (hosts == nullptr || !hosts->is_array()) return text_of(body, "hosts");
    std::string all;
    for (const auto& each : hosts->get_array()) {
        if (!each.is_string()) throw std::invalid_argument("hosts must be an array of texts");
        (all += all.empty() ? "" : ",") += each.get_string();
    }
    return all;
}

admin_viewer viewer_of_secrets(const http_request& request)
{
    return {request.principal, request.who && request.who->scopes.covers(scope::admin)};
}

awaitable<bool> has_sandbox(admin_gateway& server, admin_viewer by, std::string id)
{
    admin_page part;
    part.match = id;
    const auto answer = co_await server.sandboxes(std::move(by), std::move(part));
    const auto& rows = answer.at("sandboxes").get_array();
    co_return std::ranges::any_of(rows, [&id](const json::value& row) { return row.at("id").as_string() == id; });
}

// A secret of one sandbox may name no principal. It is shown to who has the sandbox.
awaitable<bool> is_shown_to(admin_gateway& server, admin_viewer by, secret_record secret)
{
    const bool concerns = by.sees(secret.principal) || secret.principal == secret_record::everybody;
    if (by.everything || !concerns || secret.sandbox.empty()) co_return concerns;
    co_return co_await has_sandbox(server, std::move(by), std::move(secret.sandbox));
}

awaitable<> list_secrets(exchange& x, secrets_desk desk)
{
    const auto by = viewer_of_secrets(x.request());
    const auto secrets = desk.store.all();
    json::array rows;
    for (const auto& secret : secrets) {
        const bool is_shown = co_await is_shown_to(desk.server, by, secret);
        if (is_shown) rows.push_back(describe(secret));
    }
    auto reply = uncached_reply({{"secrets", std::move(rows)}});
    co_await x.reply(std::move(reply));
}

awaitable<> put_secret(exchange& x, secrets_desk desk)
{
    const auto body = jsonrpc::read_object(x.request().body, 8);
    ::OPENSSL_cleanse(x.request().body.data(), x.request().body.size());
    secret_order wanted;
    wanted.name = text_of(body, "name");
    wanted.hosts = hosts_of_body(body);
    wanted.header = text_of(body, "header");
    wanted.query = text_of(body, "query");
    wanted.basic = text_of(body, "basic");
    wanted.sandbox = text_of(body, "sandbox");
    if (body.contains("principal")) wanted.principal = text_of(body, "principal");
    const auto fresh = set_secret(desk.store, desk.config, wanted, text_of(body, "value"), seconds_since_1970());
    note_admin_change(x, "secret_set", subject_of(fresh));
    return x.reply(uncached_reply(describe(fresh)));
}

awaitable<> remove_secret(exchange& x, secrets_desk desk)
{
    const auto& request = x.request();
    const auto name = last_part_of_path(request);
    secret_order wanted;
    wanted.principal = request.parameter("principal");
    wanted.sandbox = request.parameter("sandbox").value_or("");
    if (!desk.store.remove(name, principal_in(wanted), wanted.sandbox))
        return x.reply(error_reply(404, "There is no such secret; GET /admin/secrets lists them."));
    note_admin_change(x, "secret_removed", name);
    return x.reply(uncached_reply({{"removed", true}}));
}

struct secret_route {
    const char* method;
    const char* path;
    awaitable<> (*serve)(exchange&, secrets_desk);
    scope_set needs;
    const char* id;
    const char* summary;
    const char* member;
};

const secret_route secret_table[] = {
    {"GET", "/admin/secrets", list_secrets, {}, "list_secrets", "Secrets, without their values", "secrets"},
    {"POST", "/admin/secrets", put_secret, scope::admin, "set_secret",
     "Keep a secret, encrypted, in place of an earlier one", "name"},
    {"DELETE", "/admin/secrets/*", remove_secret, scope::admin, "remove_secret", "Remove a secret", "removed"},
};

awaitable<> serve_secret_route(exchange& x, const secret_route& of, const std::function<secrets_desk()>& desk)
{
    std::string problem;
    try {
        return of.serve(x, desk());
    } catch (const std::invalid_argument& wrong) {
        problem = wrong.what();
    } catch (const secret_error& wrong) {
        problem = wrong.what();
    }
    return x.reply(error_reply(400, problem, "InvalidArgument"));
}

json::object text_with(std::string_view description, std::string_view example)
{
    return {{"type", "string"}, {"description", description}, {"examples", json::array{json::value(example)}}};
}

json::object schema_of_secret()
{
    json::object hosts{{"type", "array"},
                       {"items", {{"type", "string"}}},
                       {"description", "Names and *.names, with :port where it is not 443"},
                       {"examples", json::array{json::array{"api.example.com"}}}};
    json::object properties;
    properties["name"] = text_with("Of the variable in which programs find the placeholder", "API_KEY");
    properties["value"] = text_with("Never shown again", "a value of 8 characters or more");
    properties["hosts"] = std::move(hosts);
    properties["header"] = text_with("Its place, or query, or basic", "Authorization: Bearer {}");
    properties["query"] = {{"type", "string"}, {"description", "As key={}"}};
    properties["basic"] = {{"type", "string"}, {"description", "User of HTTP's basic login"}};
    properties["principal"] = {{"type", "string"}, {"description", "Whose sandboxes have it; *: everybody's"}};
    properties["sandbox"] = {{"type", "string"}, {"description", "The sandbox that has it"}};
    return {
        {"type", "object"}, {"required", json::array{"name", "value", "hosts"}}, {"properties", std::move(properties)}};
}

json::object in_query(std::string_view name)
{
    return {{"name", name}, {"in", "query"}, {"required", false}, {"schema", {{"type", "string"}}}};
}

route_operation describe_secret_route(const secret_route& of)
{
    const bool sets = std::string_view(of.method) == "POST";
    auto operation = admin_operation(of.path, of.id, of.summary, of.member, sets ? schema_of_secret() : json::object());
    if (std::string_view(of.method) != "DELETE") return operation;
    operation.parameters.push_back(in_query("principal"));
    operation.parameters.push_back(in_query("sandbox"));
    return operation;
}

}  // namespace

void add_secret_routes(router& routes, const server_settings& config, admin_gateway& server)
{
    const auto store = opened_at_first_use<secret_store>(secret_store::file_in(config.sandbox_root));
    const std::function<secrets_desk()> desk = [store, &config, &server]() -> secrets_desk {
        return {store(), config, server};
    };
    for (const auto& each : secret_table)
        routes.add({.methods = {each.method},
                    .path = each.path,
                    .serve = [&each, desk](exchange& x) { return serve_secret_route(x, each, desk); },
                    .needs = each.needs,
                    .body = route_body::optional_json,
                    .audit = route_audit::changes,
                    .by_browser = true,
                    .operations = [&each](const http_request&) { return std::vector{describe_secret_route(each)}; }});
}

}  // namespace cmcp
