#include "administration/admin_sessions.hpp"
#include "config/http_settings.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "rest/admin_lists.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace cmcp {

namespace {

using pages = admin_pages_ptr;

http_reply admin_reply(const json::object& body)
{
    http_reply reply;
    reply.body = jsonrpc::write_json(body);
    reply.with("Cache-Control", "no-store");
    return reply;
}

http_reply not_there() { return error_reply(404, "There is none of this id here, or it belongs to somebody else."); }

// The id behind a route that ends with "/*".
std::string id_in(const http_request& request)
{
    const std::string_view folder(request.target->path);
    return percent_decoded(std::string_view(request.path).substr(folder.size() - 1));
}

awaitable<> answer_end(exchange& x, bool ended, std::string_view kind, std::string id)
{
    if (!ended) return x.reply(not_there());
    log::info("ended_by_administrator", {{"request", x.request().id},
                                         {"principal", log::unless_empty(x.request().principal)},
                                         {"kind", kind},
                                         {"id", id}});
    return x.reply(admin_reply({{"ended", true}}));
}

// ---------------------------------------------------------------- the stream
// AUTH_ADMINS may have changed meanwhile, too.
awaitable<bool> admits_still(exchange& x, pages self, admin_viewer& by)
{
    const bool admitted = co_await self->from.logins->still_admits(x.request());
    by = viewer_of(x.request(), *self);
    co_return admitted;
}

awaitable<> give_events(exchange& x, pages self)
{
    auto own = self->from.streams.open();
    if (!own) return x.reply(error_reply(503, "As many streams of /admin/events are open as there may be; end one."));
    admin_feed feed{self->from.server,
                    viewer_of(x.request(), *self),
                    {},
                    [self] { return connections_of(self->from); },
                    self->config.keep_alive};
    if (self->from.logins != nullptr) feed.admits = [&x, self](admin_viewer& by) { return admits_still(x, self, by); };
    return stream_admin_events(x, std::move(own), std::move(feed));
}

// ---------------------------------------------------------------- changes
awaitable<> end_run(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    auto by = viewer_of(x.request(), *self);
    const bool ended = co_await self->from.server.end_run(std::move(by), id);
    co_await answer_end(x, ended, "run", id);
}

awaitable<> delete_sandbox(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    auto by = viewer_of(x.request(), *self);
    const bool ended = co_await self->from.server.delete_sandbox(std::move(by), id);
    co_await answer_end(x, ended, "sandbox", id);
}

awaitable<> delete_session(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    const bool ended = end_session(self->from.sessions, viewer_of(x.request(), *self), id);
    return answer_end(x, ended, "session", id);
}

awaitable<> cancel_job(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    return answer_end(x, self->from.server.cancel_job(viewer_of(x.request(), *self), id), "job", id);
}

cluster_gateway& cluster_of(const admin_pages& self)
{
    if (self.from.cluster == nullptr)
        throw gateway_error(409, "This server is alone: CLUSTER_MEMBERS names no others.", "StateError");
    return *self.from.cluster;
}

awaitable<> move_sandbox(exchange& x, pages self)
{
    auto sandbox = x.request().parameter("sandbox").value_or("");
    auto to = x.request().parameter("to").value_or("");
    const auto done = co_await cluster_of(*self).move(std::move(sandbox), std::move(to));
    co_await x.reply(admin_reply(done));
}

awaitable<> begin_drain(exchange& x, pages self) { return x.reply(admin_reply(cluster_of(*self).drain(true))); }
awaitable<> end_drain(exchange& x, pages self) { return x.reply(admin_reply(cluster_of(*self).drain(false))); }

awaitable<> rebalance(exchange& x, pages self)
{
    const auto done = co_await cluster_of(*self).rebalance();
    co_await x.reply(admin_reply(done));
}

awaitable<> reload(exchange& x, pages self)
{
    const auto done = self->from.server.reload();
    x.request().concerns = jsonrpc::write_json(done);
    return x.reply(admin_reply(done));
}

awaitable<> give_copy(exchange& x, admin_gateway& server)
{
    const auto id = id_in(x.request());
    http_reply reply;
    try {
        const auto body = co_await server.copy_sandbox(id);
        reply = admin_reply(body);
    } catch (const gateway_error& problem) {
        reply = error_reply(problem.status, problem.what(), problem.type);
    }
    co_await x.reply(std::move(reply));
}

// The shape of refusals holds for whatever lies below /admin.
awaitable<> give_nothing(exchange& x, pages)
{
    return x.reply(error_reply(404, "There is nothing here for this method; /docs lists what there is below /admin."));
}

// ---------------------------------------------------------------- table
using handler = awaitable<> (*)(exchange&, pages);

struct admin_route {
    const char* method;
    const char* path;
    admin_lists::reader read;  // of lists; else null
    handler serve;             // of changes and streams
    scope_set needs;
    const char* id;
    const char* summary;
    const char* member;      // of the answer; empty: it is a stream
    const char* order = "";  // as row_order::by, where rows come from several servers
};

json::object list_parameter(std::string_view name, std::string_view description, std::string_view type)
{
    return {{"name", name}, {"in", "query"}, {"description", description}, {"schema", {{"type", type}}}};
}

route_operation describe(const admin_route& of)
{
    route_operation operation;
    operation.path = of.path;
    operation.id = of.id;
    operation.summary = of.summary;
    operation.tag = "administration";
    operation.description = "Callers see what belongs to them, administrators (mcp:admin) everything.";
    if (operation.path.ends_with("/*")) {
        operation.path.replace(operation.path.size() - 1, 1, "{id}");
        operation.parameters.push_back(
            json::object{{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
    }
    if (operation.path == "/admin/sandboxes")
        operation.parameters = {
            list_parameter("limit", "At most so many, 1000 or less", "integer"),
            list_parameter("after", "`next` of the answer before", "string"),
            list_parameter("match", "A part of id, name or principal", "string"),
            list_parameter("sort", "id, used (the latest first) or disk (the largest first)", "string")};
    if (operation.path == "/admin/cluster/move")
        operation.parameters = {list_parameter("sandbox", "Its handle", "string"),
                                list_parameter("to", "A member's name; without it, one with room", "string")};
    if (operation.path == "/admin/audit")
        operation.parameters = {list_parameter("limit", "At most so many, 1000 or less", "integer"),
                                list_parameter("kind", "call, job, login, login_refused, egress, admin, …", "string")};
    const bool streams = *of.member == '\0';
    if (!streams)
        operation.parameters.push_back(list_parameter(
            "node", "A server of the cluster, for lists also *: all of them. For administrators", "string"));
    operation.gives[streams ? "text/event-stream" : "application/json"] =
        streams ? json::object{{"type", "string"}}
                : json::object{{"type", "object"}, {"required", json::array{json::value(of.member)}}};
    operation.gives_what = of.summary;
    return operation;
}

constexpr scope_set nothing_more{};

const admin_route admin_table[] = {
    {"GET", "/admin/runs", admin_lists::runs, nullptr, nothing_more, "list_runs", "What runs now", "runs"},
    {"DELETE", "/admin/runs/*", nullptr, end_run, scope::run, "end_run", "End a call, job, task, kernel or shell",
     "ended"},
    {"GET", "/admin/sandboxes", admin_lists::sandboxes, nullptr, nothing_more, "list_all_sandboxes", "The sandboxes",
     "sandboxes"},
    {"DELETE", "/admin/sandboxes/*", nullptr, delete_sandbox, scope::sandboxes, "remove_sandbox", "Delete a sandbox",
     "ended"},
    {"GET", "/admin/sessions", admin_lists::sessions, nullptr, nothing_more, "list_sessions", "The sessions of clients",
     "sessions", "last_used"},
    {"DELETE", "/admin/sessions/*", nullptr, delete_session, nothing_more, "end_session", "End a session", "ended"},
    {"GET", "/admin/jobs", admin_lists::jobs, nullptr, nothing_more, "list_jobs", "Jobs and tasks, newest first",
     "jobs", "created"},
    {"DELETE", "/admin/jobs/*", nullptr, cancel_job, scope::run, "cancel_job", "Cancel a job or task", "ended"},
    {"GET", "/admin/usage", admin_lists::usage, nullptr, nothing_more, "show_usage",
     "Figures of the machine and by principal", "principals", "calls"},
    {"GET", "/admin/ends", admin_lists::ends, nullptr, nothing_more, "list_ends",
     "The latest runs that did not simply exit", "ends", "at"},
    {"GET", "/admin/egress", admin_lists::egress, nullptr, nothing_more, "list_egress",
     "The latest connections to the outside", "decisions", "at"},
    {"GET", "/admin/cluster", admin_lists::members, nullptr, scope::admin, "show_cluster",
     "The servers that work as one", "members"},
    {"GET", "/admin/layers", admin_lists::layers, nullptr, nothing_more, "show_layers", "Version, readiness and layers",
     "layers"},
    {"GET", "/admin/audit", admin_lists::records, nullptr, nothing_more, "show_audit",
     "The latest records of the audit", "records", "at"},
    {"GET", "/admin/events", nullptr, give_events, nothing_more, "follow_events",
     "runs, usage, end and egress as events", ""},
    {"POST", "/admin/reload", nullptr, reload, scope::admin, "reload", "Read the settings again, as SIGHUP does",
     "changed"},
    {"POST", "/admin/cluster/move", nullptr, move_sandbox, scope::admin, "move_sandbox",
     "Move a sandbox to another server", "node"},
    {"POST", "/admin/cluster/drain", nullptr, begin_drain, scope::admin, "drain", "Give all sandboxes away", "drains"},
    {"DELETE", "/admin/cluster/drain", nullptr, end_drain, scope::admin, "undrain", "Take sandboxes again", "drains"},
    {"POST", "/admin/cluster/rebalance", nullptr, rebalance, scope::admin, "rebalance",
     "Give away what others have fewer of", "moved"},
};

// ---------------------------------------------------------------- one server, or all
awaitable<http_reply> reply_of_list(const http_request& request, pages self, const admin_route& of)
{
    const admin_list list{of.read, of.member, of.order};
    const auto body = co_await read_list(request, self, list);
    co_return admin_reply(body);
}

// A caller without a name may have the scope and be no administrator.
void refuse_others(const http_request& request, const admin_pages& self, const admin_route& of)
{
    if (of.needs.covers(scope::admin) && !is_administrator(request, self))
        throw gateway_error(403, "Only an administrator may do this: it needs the scope mcp:admin.");
}

// Nothing: the change is for this server.
awaitable<std::optional<http_reply>> reply_of_other(const http_request& request, pages self)
{
    const auto node = node_named_by(request, *self);
    std::optional<http_reply> reply;
    if (node && *node != self->from.nodes.node) reply = co_await self->from.nodes.change_at(request, *node);
    co_return reply;
}

awaitable<> serve_route(exchange& x, pages self, const admin_route& of)
{
    std::optional<http_reply> reply;
    try {
        refuse_others(x.request(), *self, of);
        if (of.read != nullptr)
            reply = co_await reply_of_list(x.request(), self, of);
        else if (x.request().method != "GET")
            reply = co_await reply_of_other(x.request(), self);
        if (!reply) co_return co_await of.serve(x, self);
    } catch (const gateway_error& problem) {
        reply = error_reply(problem.status, problem.what(), problem.type);
    }
    co_await x.reply(std::move(*reply));
}

}  // namespace

admin_connections connections_of(const admin_sources& from)
{
    admin_connections known;
    known.connections = from.connections();
    for (const auto& each : from.sessions.all()) ++known.sessions[each->state->who.principal];
    return known;
}

void add_admin_routes(router& routes, const http_settings& config, admin_sources sources)
{
    const auto self = std::make_shared<admin_pages>(admin_pages{config, std::move(sources)});
    for (const auto& each : admin_table)
        routes.add({.methods = {each.method},
                    .path = each.path,
                    .serve = [self, &each](exchange& x) { return serve_route(x, self, each); },
                    .needs = each.needs,
                    .body = route_body::optional_json,
                    .audit = route_audit::changes,
                    .by_browser = true,
                    .operations = [&each](const http_request&) { return std::vector{describe(each)}; }});
    routes.add({.methods = {},
                .path = "/admin/*",
                .serve = [self](exchange& x) { return give_nothing(x, self); },
                .body = route_body::optional_json,
                .by_browser = true});
}

void add_copy_route(router& routes, admin_gateway& server)
{
    routes.add({.methods = {"POST"},
                .path = "/admin/copies/*",
                .serve = [&server](exchange& x) { return give_copy(x, server); },
                .needs = scope::admin,
                .body = route_body::optional_json,
                .audit = route_audit::changes});
}

}  // namespace cmcp
