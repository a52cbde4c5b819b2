#include "e2b/e2b_api.hpp"

#include "audit/sink.hpp"
#include "config/sandbox_settings.hpp"
#include "http/relay.hpp"
#include "http/router.hpp"
#include "jsonrpc/read_object.hpp"
#include "log/log.hpp"
#include "text/encodings.hpp"
#include "text/number.hpp"
#include "text/signature.hpp"

#include <utility>

// E2B's data plane: requests for ports of sandboxes.
namespace cmcp::e2b {

namespace {

constexpr std::chrono::seconds patience_for_answer{300};
constexpr double least_of_resumed = 300;  // seconds

class pass_rules final : public relay_rules {
public:
    /// `host`: the Host that the program gets; empty: localhost, as for links.
    pass_rules(const http_request& from, preview_view view, std::string host)
        : from_(from), view_(std::move(view)), host_(std::move(host))
    {
    }

    relayed_request_head request() const override
    {
        auto head = request_to_port(from_, target(), view_);
        if (!host_.empty()) head.set(boost::beast::http::field::host, host_);
        return head;
    }
    std::string head_of_answer(const relayed_answer_head& from) const override
    {
        return cmcp::head_of_answer(from, target(), view_);
    }
    std::string subject() const override { return "The program on this port"; }
    std::chrono::seconds patience() const override { return patience_for_answer; }

private:
    std::string target() const { return from_.path + (from_.query.empty() ? "" : "?") + from_.query; }

    const http_request& from_;
    preview_view view_;
    std::string host_;
};

// "${PORT}" in it stands for the port.
std::string masked_host(const terms& of, std::uint16_t port)
{
    constexpr std::string_view placeholder = "${PORT}";
    auto host = text_of(of.network, "maskRequestHost");
    std::erase_if(host, [](char c) { return c <= ' ' || c > '~'; });
    if (const auto at = host.find(placeholder); at != std::string::npos)
        host.replace(at, placeholder.size(), std::to_string(port));
    return host;
}

http_reply refusal_reply(int status, std::string_view sentence)
{
    http_reply reply;
    reply.status = status;
    reply.body = e2b_refusal_body(status, sentence);
    return reply;
}

http_reply not_reached(std::string_view id, std::uint16_t port, std::string_view sentence)
{
    json::object body{{"sandboxId", id}, {"message", sentence}, {"code", 502}};
    if (port != 0) body["port"] = port;
    http_reply reply;
    reply.status = 502;
    reply.body = json::serialize(body);
    return reply;
}

// As E2B's clients sign a link to a file.
std::string signature_for(const http_request& request, const std::string& token)
{
    const auto parameter = [&](std::string_view name) { return request.parameter(name).value_or(""); };
    const std::string operation = request.method == "POST" ? "write" : "read";
    auto text = parameter("path") + ":" + operation + ":" + parameter("username") + ":" + token;
    if (const auto end = parameter("signature_expiration"); !end.empty()) text += ":" + end;
    auto digest = base64_encode(sha256(text));
    while (digest.ends_with('=')) digest.pop_back();
    return "v1_" + digest;
}

std::string_view shown_id(std::string_view id) { return id.substr(0, 64); }

}  // namespace

struct e2b_api::place {
    std::string handle;  // empty: no sandbox can have such an id
    std::string id;      // as the request says it
    std::uint16_t port = 0;
};

std::optional<e2b_api::place> e2b_api::place_of(const http_request& request) const
{
    if (const auto id = request.header("e2b-sandbox-id")) {
        const auto port = read_number<std::uint16_t>(request.header("e2b-sandbox-port").value_or("49983"));
        return place{handle_of(*id), std::string(*id), port.value_or(0)};
    }
    const auto label = read_label(request.header("host").value_or(""), of_.config.preview_domain);
    if (!label || label->node.empty()) return std::nullopt;
    return place{"sbx_" + label->node + "_" + label->digits, label->digits + "-" + label->node, label->port};
}

// A sandbox's host is the preview's, too: a link's token, or a cookie of one, is the preview's matter.
bool e2b_api::has_data_request(const http_request& request) const
{
    if (request.header("e2b-sandbox-id")) return true;
    if (of_.config.preview_domain.empty() || request.parameter(preview_parameter)) return false;
    if (request.header("cookie").value_or("").find(preview_parameter) != std::string_view::npos) return false;
    const auto at = place_of(request);
    if (!at) return false;
    if (at->port == daemon_port || at->port == interpreter_port) return true;
    const auto where = of_.runs.sandboxes().store().find_of_any(at->handle);
    return !where || !where->terms.empty();
}

std::optional<http_reply> e2b_api::refuse_stranger(const http_request& request, const place& at, const terms& of) const
{
    if (at.port != daemon_port && at.port != interpreter_port) {
        const auto token = request.header("e2b-traffic-access-token").value_or("");
        if (of.is_open || same_secret(token, traffic_token(of))) return std::nullopt;
        return refusal_reply(403,
                             "Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is "
                             "missing or wrong.");
    }
    if (request.path == "/init") return refusal_reply(404, "The daemon is initialized by the server alone.");
    if (!of.secure || request.path == "/health") return std::nullopt;
    if (same_secret(request.header("x-access-token").value_or(""), of.token)) return std::nullopt;
    // E2B's clients bring the token to what runs code, and none to contexts, which are like an open port.
    const auto traffic = request.header("e2b-traffic-access-token").value_or("");
    const bool is_of_contexts = at.port == interpreter_port && request.path != "/execute";
    if (is_of_contexts && (of.is_open || same_secret(traffic, traffic_token(of)))) return std::nullopt;
    const auto signature = request.parameter("signature");
    if (!signature || request.path != "/files")
        return refusal_reply(401, "unauthorized access: x-access-token is missing or wrong");
    if (!same_secret(*signature, signature_for(request, of.token))) return refusal_reply(401, "invalid signature");
    const auto end = request.parameter("signature_expiration").value_or("");
    if (!end.empty() && read_number<double>(end).value_or(0) < sandbox_manager::now())
        return refusal_reply(401, "signature is already expired");
    return std::nullopt;
}

awaitable<> e2b_api::serve_data(exchange& x)
{
    auto at = place_of(x.request());
    auto reply = not_reached({}, 0, "The sandbox was not found");
    if (at) reply = co_await serve_place(x, std::move(*at));
    if (x.status() != 0) co_return;
    x.close_after();
    co_await x.reply(std::move(reply));
}

awaitable<http_reply> e2b_api::serve_place(exchange& x, place at)
{
    http_reply reply = not_reached(shown_id(at.id), 0, "The sandbox was not found");
    co_await sandboxes().leases().end_of_pause(at.handle);
    auto where = at.handle.empty() ? std::nullopt : sandboxes().store().find_of_any(at.handle);
    auto of = where ? terms_of(*where) : std::nullopt;
    if (!of || of->is_snapshot() || at.port == 0) co_return reply;
    if (auto refused = refuse_stranger(x.request(), at, *of)) co_return std::move(*refused);
    if (where->is_paused() && !of->resumes) co_return reply;
    subject to{std::move(*where), std::move(*of)};
    const bool was_paused = to.where.is_paused();
    if (was_paused)
        lease(to.where, sandbox_manager::now() + least_of_resumed, least_of_resumed, to.where.lease.deletes);
    reply = {};
    try {
        caller owner;
        owner.principal = to.where.owner;
        if (was_paused && !to.of.recipe.empty())
            co_await templates_.begin_programs(std::move(owner), to.where, to.of.recipe);
        const auto wait = co_await sandboxes().limits().begin_call(to.where.owner);
        if (wait != std::chrono::milliseconds(0)) co_return refusal_reply(429, quotas::refusal_of_call(wait));
        if (auto unwritten = audit::refusal(); !unwritten.empty()) co_return refusal_reply(503, unwritten);
        auto work = pass(x, at, to);
        auto connection = sandboxes().enter(to.where);
        reply = co_await sandbox_activities::run(connection, std::move(work));
    } catch (const sandbox_error& refused) {
        x.close_after();  // an answer that has begun is cut off
        reply = not_reached(shown_id(at.id), at.port, refused.what());
    }
    co_return reply;
}

awaitable<http_reply> e2b_api::pass(exchange& x, place at, subject to)
{
    caller who;
    who.principal = to.where.owner;
    const http_request& request = x.request();
    audit::add(audit::kind::call, {{"principal", log::unless_empty(who.principal)},
                                   {"method", "e2b " + request.method + " " + std::to_string(at.port)},
                                   {"sandbox", to.where.id}});
    if (at.port == interpreter_port) {
        auto reply = co_await code_.serve(x, std::move(who), to.where, to.of, request.path);
        co_return reply ? std::move(*reply) : http_reply();
    }
    if (at.port == daemon_port) {
        daemons::variables all{{"E2B_SANDBOX", "true"},
                               {"E2B_SANDBOX_ID", id_of(to.where.id)},
                               {"E2B_TEMPLATE_ID", to.of.made_from},
                               {std::string(root_of_figures.first), std::string(root_of_figures.second)}};
        if (!to.of.recipe.empty()) {
            all.emplace_back("E2B_DEFAULT_USER", text_of(to.of.recipe, "user"));
            all.emplace_back("E2B_DEFAULT_WORKDIR", text_of(to.of.recipe, "folder"));
        }
        for (const auto& [name, value] : to.of.variables)
            if (value.is_string()) all.emplace_back(name, value.get_string());
        co_await daemons_.need(who, to.where, std::move(all));
    }
    std::string problem;
    const port_link link{to.where.owner, to.where.id, at.port, 0, {}};
    auto socket = co_await of_.ports.connect(link, problem);
    if (!socket)
        co_return not_reached(shown_id(at.id), at.port, "The sandbox is running but port is not open: " + problem);
    preview_view view;
    view.port = at.port;
    view.own_origin = true;
    view.host = request.header("host").value_or("");
    view.scheme = request.secure ? "https" : "http";
    auto host = at.port == daemon_port ? std::string() : masked_host(to.of, at.port);
    const pass_rules rules(request, std::move(view), std::move(host));
    byte_stream stream(*socket);
    auto end = co_await relay(x, stream, rules);
    co_return not_reached(shown_id(at.id), at.port, end.failure);
}

void add_e2b_routes(router& routes, e2b_api& api)
{
    routes.add({.methods = {},
                .path = "/e2b/*",
                .serve = [&api](exchange& x) { return api.serve_data(x); },
                .access = route_access::open,
                .body = route_body::streamed,
                .claims = [&api](const http_request& by) { return api.has_data_request(by); },
                .handle = [&api](const http_request& by) { return api.subject_of(by); },
                .relays = true});
    routes.add({.methods = {"PUT"},
                .path = "/template-files/*",
                .serve = [&api](exchange& x) { return api.take_files(x); },
                .access = route_access::open,
                .body = route_body::streamed});
    for (const auto* path : {"/sandboxes", "/sandboxes/*", "/v2/sandboxes", "/v2/sandboxes/*", "/snapshots",
                             "/templates", "/templates/*", "/v2/templates/*", "/v3/templates"})
        routes.add({.methods = {"GET", "POST", "PUT", "DELETE"},
                    .path = path,
                    .serve = [&api](exchange& x) { return api.serve(x); },
                    .needs = scope_set(scope::sandboxes) | scope::run,
                    .body = route_body::any,
                    .audit = route_audit::calls,
                    .counts = route_counts::changes,
                    .handle = [&api](const http_request& by) { return api.subject_of(by); },
                    .e2b = true});
}

}  // namespace cmcp::e2b
