#include "jupyter/jupyter_api.hpp"

#include "config/http_settings.hpp"
#include "http/router.hpp"
#include "jsonrpc/read_object.hpp"
#include "jupyter/api_call.hpp"
#include "sandboxes/http_refusals.hpp"
#include "text/time_text.hpp"

#include <utility>

namespace cmcp::jupyter {

namespace {

constexpr std::string_view root = "/api";
constexpr std::string_view of_checkpoints = "checkpoints";
constexpr std::string_view version = "2.14.0";  // of the jupyter_server whose API this is

std::vector<std::string> segments_of(std::string_view path)
{
    std::vector<std::string> segments;
    path = trimmed_path(path.substr(root.size()));
    while (!path.empty()) {
        const auto next = path.substr(0, path.find('/'));
        segments.push_back(percent_decoded(next));
        path = trimmed_path(path.substr(next.size()));
    }
    return segments;
}

std::string path_of(const std::vector<std::string>& segments, std::size_t from, std::size_t to)
{
    std::string path;
    for (std::size_t i = from; i < to; ++i) path = joined(path, segments[i]);
    return path;
}

http_refusal no_such_path() { return {404, "There is no such path in this part of Jupyter's API."}; }

json::object spec(std::string_view name, std::string_view shown, std::string_view language = "python")
{
    json::object about{{"argv", json::array{"container-mcp"}},  // no command that a client could start
                       {"env", json::object()},
                       {"display_name", shown},
                       {"language", language},
                       {"interrupt_mode", "message"},
                       {"metadata", {{"debugger", false}}}};
    return {{"name", name}, {"spec", std::move(about)}, {"resources", json::object()}};
}

json::object kernelspecs()
{
    json::object specs;
    specs[own_spec] = spec(own_spec, "Python 3");
    specs[node_spec] = spec(node_spec, "JavaScript (Node.js)", "javascript");
    specs[shared_spec] = spec(shared_spec, "Python 3 (the sandbox's own kernel, shared with its agent)");
    return {{"default", own_spec}, {"kernelspecs", std::move(specs)}};
}

json::object identity(const std::string& principal)
{
    const std::string name = principal.empty() ? "anonymous" : principal;
    json::object who{{"username", name},    {"name", name},          {"display_name", name},
                     {"initials", nullptr}, {"avatar_url", nullptr}, {"color", nullptr}};
    return {{"identity", std::move(who)}, {"permissions", json::object()}};
}

// What Jupyter's clients try again.
bool is_busy(const http_reply& refused)
{
    return refused.status == 400 && (refused.problem_type == "Busy" || refused.problem_type == "QuotaExceeded");
}

constexpr std::size_t most_sessions = 1000;  // of a caller: each list holds all
constexpr std::size_t longest_word = 4096;   // path, name or type of one

void check(std::string_view what, const std::string& text)
{
    if (text.size() <= longest_word) return;
    throw http_refusal(400, std::string(what) + " has " + std::to_string(text.size()) +
                                " bytes; a session's has at most " + std::to_string(longest_word) + ".");
}

void check(const session& one)
{
    check("path", one.path);
    check("name", one.name);
    check("type", one.type);
}

}  // namespace

awaitable<> jupyter_api::serve(exchange& x, websocket_register& sockets)
{
    call from{x.request(), {}, segments_of(x.request().path)};
    from.who.principal = x.request().principal;
    if (from.segments.size() == 3 && from.segments[0] == "kernels" && from.segments[2] == "channels") {
        co_await open_channels(x, sockets, from.segments[1]);
        co_return;
    }
    auto reply = co_await answer_refusals(std::move(from));
    co_await x.reply(std::move(reply));
}

awaitable<> jupyter_api::stop()
{
    co_await uploads_.stop();
    co_await kernels_.stop();
}

awaitable<http_reply> jupyter_api::answer_refusals(call from)
{
    http_reply reply;
    try {
        reply = co_await answer(std::move(from));
    } catch (const std::runtime_error&) {
        reply = reply_to_refusal(std::current_exception());
    }
    if (is_busy(reply)) reply.status = 503;
    co_return reply;
}

awaitable<http_reply> jupyter_api::answer(call from)
{
    const auto first = from.segment(0);
    http_reply reply;
    if (first == "kernels")
        reply = co_await about_kernels(std::move(from));
    else if (first == "sessions")
        reply = co_await about_sessions(std::move(from));
    else if (first == "contents")
        reply = co_await about_contents(std::move(from));
    else
        reply = about_server(from);
    co_return reply;
}

http_reply jupyter_api::about_server(const call& from)
{
    const auto first = from.segment(0);
    if (first.empty()) return from.read({{"version", version}});
    if (first == "me") return from.read(identity(from.who.principal));
    if (first == "terminals" && from.segments.size() == 1) return from.read(json::array());
    if (first == "kernelspecs" && from.segments.size() == 1) return from.read(kernelspecs());
    if (first == "kernelspecs") {
        const auto specs = kernelspecs();
        const auto& all = object_of(specs, "kernelspecs");
        if (from.segments.size() == 2 && all.contains(from.segments[1])) return from.read(all.at(from.segments[1]));
    }
    if (first != "status") throw no_such_path();
    const auto all = kernels_.list(from.who);
    std::size_t connections = 0;
    for (const auto& each : all) connections += each->connections();
    return from.read({{"started", timestamp(began_)},
                      {"last_activity", timestamp(std::chrono::system_clock::now())},
                      {"connections", connections},
                      {"kernels", all.size()}});
}

awaitable<std::shared_ptr<kernel>> jupyter_api::kernel_for(caller who, json::object wish, std::string path)
{
    const auto id = text_of(wish, "id");
    if (!id.empty()) co_return kernels_.find(who, id);
    new_kernel wanted{text_of(wish, "name"), std::move(path), kernel_environment(wish)};
    auto started = co_await kernels_.start(std::move(who), std::move(wanted));
    co_return started;
}

awaitable<http_reply> jupyter_api::about_kernels(call from)
{
    if (from.segments.size() > 1) {
        auto id = from.segments[1];
        auto reply = co_await about_kernel(std::move(from), std::move(id));
        co_return reply;
    }
    if (from.is("POST")) {
        const auto wish = from.body();
        new_kernel wanted{text_of(wish, "name"), text_of(wish, "path"), kernel_environment(wish)};
        const auto started = co_await kernels_.start(from.who, std::move(wanted));
        auto reply = json_reply(201, started->model());
        co_return reply.with("Location", "/api/kernels/" + started->at().id);
    }
    json::array all;
    for (const auto& each : kernels_.list(from.who)) all.push_back(each->model());
    co_return from.read(all);
}

awaitable<http_reply> jupyter_api::about_kernel(call from, std::string id)
{
    const auto one = kernels_.find(from.who, id);
    const auto order = from.segment(2);
    if (order.empty() && from.is("DELETE")) {
        co_await kernels_.end(from.who, id);
        co_return nothing();
    }
    if (order.empty()) co_return from.read(one->model());
    if (order != "interrupt" && order != "restart") throw no_such_path();
    if (!from.is("POST")) refuse_method();
    if (order == "interrupt") {
        one->interrupt();
        co_return nothing();
    }
    co_await one->restart();
    co_return json_reply(200, one->model());
}

awaitable<http_reply> jupyter_api::about_contents(call from)
{
    const auto& all = from.segments;
    const auto behind = co_await segments_of_checkpoints(from);
    if (behind != 0) {
        auto path = path_of(all, 1, all.size() - behind);
        auto id = behind == 2 ? all.back() : std::string();
        auto reply = co_await about_checkpoints(from, std::move(path), std::move(id));
        co_return reply;
    }
    const auto path = path_of(all, 1, all.size());
    http_reply reply = nothing();
    if (from.reads()) {
        const auto& request = from.request;
        wanted_content wanted{request.parameter("type").value_or(""), request.parameter("format").value_or(""),
                              request.parameter("content").value_or("1") != "0"};
        auto model = co_await contents_.get(from.who, path, std::move(wanted));
        reply = json_reply(200, std::move(model));
    } else if (from.is("PUT")) {
        auto stored = co_await contents_.put(from.who, path, std::move(from.request.body));
        reply = json_reply(stored.second ? 201 : 200, std::move(stored.first));
    } else if (from.is("POST")) {
        auto model = co_await contents_.make(from.who, path, from.body());
        reply = json_reply(201, std::move(model));
    } else if (from.is("PATCH")) {
        auto to = text_of(from.body(), "path");
        auto model = co_await contents_.rename(from.who, path, std::move(to));
        reply = json_reply(200, std::move(model));
    } else {
        co_await contents_.remove(from.who, path);
    }
    co_return reply;
}

// A folder may be called "checkpoints", too: only what stands behind a file, or behind nothing that is there, is about
// checkpoints.
awaitable<std::size_t> jupyter_api::segments_of_checkpoints(call& from)
{
    const auto& all = from.segments;
    const auto named = [&](std::size_t behind) {
        return all.size() > behind + 1 && all[all.size() - behind] == of_checkpoints;
    };
    std::size_t behind = 0;
    if (named(1) && (from.reads() || from.is("POST")))
        behind = 1;
    else if (named(2) && (from.is("POST") || from.is("DELETE")))
        behind = 2;
    if (behind == 0) co_return 0;
    auto path = path_of(all, 1, all.size() - behind);
    const bool in_folder = co_await contents_.is_folder(from.who, std::move(path));
    co_return in_folder ? 0 : behind;
}

awaitable<http_reply> jupyter_api::about_checkpoints(call from, std::string path, std::string id)
{
    http_reply reply = nothing();
    if (!id.empty() && id != "checkpoint") throw http_refusal(404, "There is one checkpoint, called checkpoint.");
    if (id.empty() && from.is("POST")) {
        const auto kept = co_await contents_.keep(from.who, path);
        reply = json_reply(201, kept);
    } else if (id.empty()) {
        const auto all = co_await contents_.checkpoints(from.who, path);
        reply = from.read(all);
    } else if (from.is("POST")) {
        co_await contents_.restore(from.who, path);
    } else if (from.is("DELETE")) {
        co_await contents_.remove_checkpoint(from.who, path);
    } else {
        refuse_method();
    }
    co_return reply;
}

awaitable<> jupyter_api::open_channels(exchange& x, websocket_register& sockets, std::string id)
{
    std::shared_ptr<kernel> one;
    auto refusal = websocket::refuse(x.request());
    if (!refusal) {
        try {
            caller who;
            who.principal = x.request().principal;
            one = kernels_.find(who, id);
        } catch (const http_refusal& missing) {
            refusal = missing.reply();
        }
    }
    if (refusal) {
        co_await x.reply(std::move(*refusal));
        co_return;
    }
    websocket::terms terms;
    if (websocket::offers(x.request(), v1_protocol)) terms.protocol = v1_protocol;
    terms.longest_message = config_.max_body_bytes;
    const auto as = terms.protocol.empty() ? framing::json : framing::v1;
    auto socket = co_await websocket::accept(x, sockets, terms);
    if (socket)
        co_await one->serve(
            std::make_shared<client>(std::move(socket), as, config_.write_timeout, pool_, x.request().principal));
}

void add_jupyter_routes(router& routes, jupyter_api& kernels, websocket_register& sockets)
{
    for (const auto* path : {"/api", "/api/*"})
        routes.add({.methods = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
                    .path = path,
                    .serve = [&kernels, &sockets](exchange& x) { return kernels.serve(x, sockets); },
                    .needs = scope_set(scope::run) | scope::files,  // notebooks run, and are saved
                    .body = route_body::any,
                    .audit = route_audit::calls,
                    .counts = route_counts::changes,
                    .jupyter = true});
}

awaitable<http_reply> jupyter_api::about_sessions(call from)
{
    if (from.segments.size() > 1) {
        auto id = from.segments[1];
        auto reply = co_await about_session(std::move(from), std::move(id));
        co_return reply;
    }
    if (!from.is("POST")) {
        json::array all;
        for (const auto& each : kernels_.sessions(from.who)) all.push_back(each.model());
        co_return from.read(all);
    }
    const auto wish = from.body();
    session begun{{}, text_of(wish, "path"), text_of(wish, "name"), text_of(wish, "type"), {}};
    if (begun.path.empty()) throw http_refusal(400, "path must name the session's notebook or console.");
    check(begun);
    if (const auto* there = kernels_.session_at(from.who, begun.path)) co_return json_reply(201, there->model());
    if (kernels_.sessions(from.who).size() >= most_sessions)
        throw http_refusal(429,
                           "There are " + std::to_string(most_sessions) + " sessions; delete those that are over.");
    if (begun.name.empty()) begun.name = name_in(begun.path);
    begun.uses = co_await kernel_for(from.who, object_of(wish, "kernel"), begun.path);
    const auto& entry = kernels_.begin_session(std::move(begun));
    co_return json_reply(201, entry.model());
}

awaitable<http_reply> jupyter_api::about_session(call from, std::string id)
{
    const auto there = kernels_.find_session(from.who, id);
    http_reply reply = nothing();
    if (from.is("DELETE"))
        co_await kernels_.end(from.who, there.uses->at().id);
    else if (from.is("PATCH"))
        reply = co_await change_session(std::move(from), std::move(id));
    else
        reply = from.read(there.model());
    co_return reply;
}

// A session that takes another kernel ends the one that it had.
awaitable<http_reply> jupyter_api::change_session(call from, std::string id)
{
    const auto wish = from.body();
    auto changed = kernels_.find_session(from.who, id);
    if (wish.contains("path")) changed.path = text_of(wish, "path");
    if (wish.contains("name")) changed.name = text_of(wish, "name");
    if (wish.contains("type")) changed.type = text_of(wish, "type");
    check(changed);
    const auto before = changed.uses;
    if (!object_of(wish, "kernel").empty())
        changed.uses = co_await kernel_for(from.who, object_of(wish, "kernel"), changed.path);
    kernels_.find_session(from.who, id) = changed;
    if (changed.uses != before) co_await kernels_.end(from.who, before->at().id);
    co_return json_reply(200, changed.model());
}

}  // namespace cmcp::jupyter
