#include "rest/admin_routes.hpp"

#include "administration/admin_change.hpp"
#include "administration/admin_sessions.hpp"
#include "config/http_settings.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "rest/rest_routes.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cmcp {

namespace {

using pages = admin_pages_ptr;

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
    return x.reply(uncached_reply({{"ended", true}}));
}

// ---------------------------------------------------------------- lists
awaitable<json::object> list_runs(const http_request& request, pages self)
{
    return self->server.runs(viewer_of(request, *self));
}

awaitable<json::object> list_sandboxes(const http_request& request, pages self)
{
    return self->server.sandboxes(viewer_of(request, *self), page_of(request));
}

awaitable<json::object> list_sessions(const http_request& request, pages self)
{
    co_return sessions_of(self->sessions, viewer_of(request, *self));
}

awaitable<json::object> list_jobs(const http_request& request, pages self)
{
    co_return self->server.jobs(viewer_of(request, *self));
}

awaitable<json::object> show_usage(const http_request& request, pages self)
{
    return self->server.usage(viewer_of(request, *self), connections_of(*self));
}

awaitable<json::object> list_ends(const http_request& request, pages self)
{
    co_return self->server.ends(viewer_of(request, *self));
}

awaitable<json::object> list_egress(const http_request& request, pages self)
{
    co_return self->server.egress(viewer_of(request, *self));
}

awaitable<json::object> list_calls(const http_request& request, pages self)
{
    const auto sandbox = request.parameter("sandbox").value_or("");
    co_return self->server.calls(viewer_of(request, *self), sandbox);
}

awaitable<json::object> list_trends(const http_request& request, pages self)
{
    co_return self->server.trends(viewer_of(request, *self));
}

awaitable<json::object> show_layers(const http_request& request, pages self)
{
    return self->server.layers(viewer_of(request, *self));
}

awaitable<json::object> show_audit(const http_request& request, pages self)
{
    const auto limit = page_of(request).limit;
    const auto kind = request.parameter("kind").value_or("");
    co_return self->server.audit(viewer_of(request, *self), limit, kind);
}

// ---------------------------------------------------------------- the stream
// AUTH_ADMINS may have changed meanwhile, too.
awaitable<bool> admits_still(exchange& x, pages self, admin_viewer& by)
{
    const bool admitted = co_await self->logins->still_admits(x.request());
    by = viewer_of(x.request(), *self);
    co_return admitted;
}

awaitable<> give_events(exchange& x, pages self)
{
    auto own = self->streams.open();
    if (!own) return x.reply(error_reply(503, "As many streams of /admin/events are open as there may be; end one."));
    admin_feed feed{self->server,
                    viewer_of(x.request(), *self),
                    {},
                    [self] { return connections_of(*self); },
                    self->config.keep_alive};
    if (self->logins != nullptr) feed.admits = [&x, self](admin_viewer& by) { return admits_still(x, self, by); };
    return stream_admin_events(x, std::move(own), std::move(feed));
}

// ---------------------------------------------------------------- changes
awaitable<> end_run(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    auto by = viewer_of(x.request(), *self);
    const bool ended = co_await self->server.end_run(std::move(by), id);
    co_await answer_end(x, ended, "run", id);
}

awaitable<> delete_sandbox(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    auto by = viewer_of(x.request(), *self);
    const bool ended = co_await self->server.delete_sandbox(std::move(by), id);
    co_await answer_end(x, ended, "sandbox", id);
}

awaitable<> delete_session(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    const bool ended = end_session(self->sessions, viewer_of(x.request(), *self), id);
    return answer_end(x, ended, "session", id);
}

awaitable<> cancel_job(exchange& x, pages self)
{
    const auto id = id_in(x.request());
    return answer_end(x, self->server.cancel_job(viewer_of(x.request(), *self), id), "job", id);
}

awaitable<> pull_image(exchange& x, pages self)
{
    const auto name = x.request().parameter("image").value_or("");
    return x.reply(uncached_reply(self->server.pull_image(name)));
}

awaitable<> reload(exchange& x, pages self)
{
    const auto done = self->server.reload();
    x.request().concerns = jsonrpc::write_json(done);
    return x.reply(uncached_reply(done));
}

awaitable<> give_copy(exchange& x, admin_gateway& server)
{
    const auto id = id_in(x.request());
    http_reply reply;
    try {
        const auto body = co_await server.copy_sandbox(id);
        reply = uncached_reply(body);
    } catch (const http_refusal& problem) {
        reply = problem.reply();
    }
    co_await x.reply(std::move(reply));
}

// The shape of refusals holds for whatever lies below /admin.
awaitable<> give_nothing(exchange& x)
{
    return x.reply(error_reply(404, "There is nothing here for this method; /docs lists what there is below /admin."));
}

// ---------------------------------------------------------------- table
// What lists show; the members of their rows are in docs/rest.md.
constexpr admin_column who{"principal", "principal", "Who"};

void add_columns_of_work(json::object& all)
{
    all["runs"] = columns_of({{"id", "handle", "ID"},
                              {"kind", "word", "Kind"},
                              who,
                              {"tool", "text", "Tool"},
                              {"state", "word", "State"},
                              {"seconds", "duration", "Time"},
                              {"memory_bytes", "bytes", "Memory"},
                              {"first_line", "text", "First line"}});
    all["sandboxes"] = columns_of({{"name", "text", "Name"},
                                   {"id", "handle", "ID"},
                                   who,
                                   {"state", "word", "State"},
                                   {"last_used", "time", "Unused"},
                                   {"disk_bytes", "bytes", "Disk"},
                                   {"kernels", "number", "Kernels"},
                                   {"shells", "number", "Shells"},
                                   {"ports", "list", "Ports"},
                                   {"image", "text", "Image"}});
    all["sessions"] = columns_of({{"id", "word", "ID"},
                                  who,
                                  {"client", "text", "Client"},
                                  {"revision", "word", "Revision"},
                                  {"transport", "text", "Transport"},
                                  {"address", "text", "Address"},
                                  {"last_used", "time", "Unused"},
                                  {"requests", "number", "Requests"}});
    all["jobs"] = columns_of({{"id", "handle", "ID"},
                              {"kind", "word", "Kind"},
                              who,
                              {"tool", "text", "Tool"},
                              {"state", "word", "State"},
                              {"created", "time", "Begun"},
                              {"summary", "text", "What"}});
}

json::object columns_by_list()
{
    json::object all;
    add_columns_of_work(all);
    all["principals"] = columns_of({who,
                                    {"calls", "number", "Calls"},
                                    {"calls_failed", "number", "Failed"},
                                    {"runs", "number", "Runs"},
                                    {"runs_waiting", "number", "Wait"},
                                    {"sandboxes", "number", "Boxes"},
                                    {"disk_bytes", "bytes", "Disk"},
                                    {"jobs", "number", "Jobs"},
                                    {"kernels", "number", "Kern"},
                                    {"shells", "number", "Shells"},
                                    {"sessions", "number", "Sessions"},
                                    {"cpu_seconds", "duration", "CPU"}});
    all["ends"] = columns_of({{"at", "time", "Ago"},
                              who,
                              {"tool", "text", "Tool"},
                              {"cause", "word", "Cause"},
                              {"exit_code", "number", "Exit"},
                              {"setting", "text", "Setting"},
                              {"sentence", "texts", "Why", "denied"}});
    all["decisions"] = columns_of({{"at", "time", "Ago"},
                                   who,
                                   {"host", "text", "Host"},
                                   {"port", "number", "Port"},
                                   {"allowed", "flag", "Allowed"},
                                   {"reason", "text", "Reason"},
                                   {"setting", "text", "Setting"}});
    all["calls"] = columns_of({{"at", "time", "Ago"},
                               {"tool", "text", "Tool"},
                               {"cause", "word", "Cause"},
                               {"exit_code", "number", "Exit"},
                               {"seconds", "duration", "Time"},
                               {"input", "text", "Input"}});
    all["trends"] = columns_of({{"at", "time", "Ago"},
                                {"runs", "number", "Runs"},
                                {"runs_waiting", "number", "Wait"},
                                {"calls", "number", "Calls"},
                                {"failures", "number", "Failed"},
                                {"cpu", "share", "CPU"},
                                {"memory_bytes", "bytes", "Memory"}});
    all["layers"] = columns_of({{"name", "word", "Layer"}, {"state", "word", "State"}, {"detail", "text", "Detail"}});
    all["upstreams"] = columns_of({{"name", "word", "Name"},
                                   {"kind", "word", "Kind"},
                                   {"status", "word", "State"},
                                   {"tools", "number", "Tools"},
                                   {"calls", "number", "Calls"},
                                   {"protocol", "text", "Revision"},
                                   {"place", "text", "Place"},
                                   {"problem", "text", "Problem"}});
    all["records"] = columns_of({{"at", "time", "Ago"},
                                 {"n", "number", "Record"},
                                 who,
                                 {"kind", "word", "Kind"},
                                 {"tool", "text", "Tool"},
                                 {"cause", "text", "Cause"}});
    return all;
}

constexpr scope_set nothing_more{};

admin_route reads(const char* path, admin_route::reader read, const char* id, const char* summary, const char* member,
                  const char* order = "", json::array parameters = {})
{
    return {"GET", path, std::move(read), {}, nothing_more, id, summary, member, order, std::move(parameters)};
}

admin_route ends(const char* path, admin_route::handler serve, scope_set needs, const char* id, const char* summary)
{
    return {"DELETE", path, {}, std::move(serve), needs, id, summary, "ended"};
}

std::vector<admin_route> admin_table()
{
    const auto limit = query_parameter_of("limit", "At most so many, 1000 or less", "integer");
    const json::array of_sandboxes{
        limit, query_parameter_of("after", "`next` of the answer before", "string"),
        query_parameter_of("match", "A part of id, name or principal", "string"),
        query_parameter_of("sort", "id, used (the latest first) or disk (the largest first)", "string")};
    const json::array of_audit{
        limit, query_parameter_of("kind", "call, job, login, login_refused, egress, admin, …", "string")};
    const json::array of_calls{query_parameter_of("sandbox", "Handle of the one that they were about", "string")};
    const json::array of_pull{query_parameter_of("image", "Its name, as sandboxes ask for it", "string")};
    return {
        reads("/admin/runs", list_runs, "list_runs", "What runs now", "runs"),
        ends("/admin/runs/*", end_run, scope::run, "end_run", "End a call, job, task, kernel or shell"),
        reads("/admin/sandboxes", list_sandboxes, "list_all_sandboxes", "The sandboxes", "sandboxes", "", of_sandboxes),
        ends("/admin/sandboxes/*", delete_sandbox, scope::sandboxes, "remove_sandbox", "Delete a sandbox"),
        reads("/admin/sessions", list_sessions, "list_sessions", "The sessions of clients", "sessions", "last_used"),
        ends("/admin/sessions/*", delete_session, nothing_more, "end_session", "End a session"),
        reads("/admin/jobs", list_jobs, "list_jobs", "Jobs and tasks, newest first", "jobs", "created"),
        ends("/admin/jobs/*", cancel_job, scope::run, "cancel_job", "Cancel a job or task"),
        reads("/admin/usage", show_usage, "show_usage", "Figures of the machine and by principal", "principals",
              "calls"),
        reads("/admin/ends", list_ends, "list_ends", "The latest calls that failed", "ends", "at"),
        reads("/admin/calls", list_calls, "list_calls",
              "The caller's own latest calls about sandboxes, with what they printed", "calls", "at", of_calls),
        reads("/admin/trends", list_trends, "list_trends",
              "Figures of the last hour, every ten seconds, for administrators", "trends", "at"),
        reads("/admin/egress", list_egress, "list_egress", "The latest connections to the outside", "decisions", "at"),
        reads("/admin/layers", show_layers, "show_layers", "Version, readiness and layers", "layers"),
        reads("/admin/audit", show_audit, "show_audit", "The latest records of the audit", "records", "at", of_audit),
        {"GET",
         "/admin/events",
         {},
         give_events,
         nothing_more,
         "follow_events",
         "runs, usage, end and egress as events",
         ""},
        {"POST",
         "/admin/reload",
         {},
         reload,
         scope::admin,
         "reload",
         "Read the settings again, as SIGHUP does",
         "changed"},
        {"POST",
         "/admin/images",
         {},
         pull_image,
         scope::admin,
         "pull_image",
         "Begin to fetch an image that SANDBOX_IMAGE_PULL allows, and say how far it is",
         "there",
         "",
         of_pull},
    };
}

}  // namespace

admin_connections connections_of(const admin_pages& self)
{
    admin_connections known;
    known.connections = self.connections();
    for (const auto& each : self.sessions.all()) ++known.sessions[each->state->who.principal];
    return known;
}

void add_admin_routes(router& routes, const admin_pages_ptr& self)
{
    const auto columns = columns_by_list();
    for (auto& each : admin_table()) {
        if (each.read) each.columns[each.member] = columns.at(each.member);
        if (each.member == std::string_view("layers")) each.columns["upstreams"] = columns.at("upstreams");
        add_admin_route(routes, self, std::move(each));
    }
    routes.add({.methods = {},
                .path = "/admin/*",
                .serve = give_nothing,
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
