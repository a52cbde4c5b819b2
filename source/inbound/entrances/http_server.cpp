#include "entrances/http_server.hpp"

#include "async/loop_delay.hpp"
#include "async/task_group.hpp"
#include "config/settings.hpp"
#include "entrances/housekeeping.hpp"
#include "entrances/side_entrance.hpp"
#include "http/connection.hpp"
#include "http/listener.hpp"
#include "http/request_guard.hpp"
#include "http/websocket.hpp"
#include "identity/gatekeeper.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"
#include "pages/landing_page.hpp"
#include "rest/rest_routes.hpp"
#include "tls/certificate_ends.hpp"
#include "transport/http_sse.hpp"
#include "transport/session_store.hpp"
#include "transport/streamable_http.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

namespace cmcp {

using std::chrono::milliseconds;

namespace {

// After the requests have been cancelled, their streams and connections end within this.
constexpr milliseconds ending_limit(3000);

// Other servers that hear of this one's end close their connections. On a busy machine etcd tells them late, and a
// request that comes over a connection that was closed meanwhile may have been carried out for all they know.
constexpr milliseconds time_to_hear(4000);

constexpr std::size_t most_administrators = 64;

// A client of TLS could not read why.
void turn_away(stream_socket socket, const connection_context& from)
{
    if (from.tls != nullptr) return;
    auto reply = error_reply(503, "The server has as many connections as it can have; try again later.");
    reply.with("Retry-After", "5");
    reply.body = refusal_body(reply, true);
    auto text = reply_head(reply.status, reply.fields, reply.type());
    append_field(text, "Content-Length", std::to_string(reply.body.size()));
    text += "Connection: close\r\n\r\n" + reply.body;
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(text), ignored);
    socket.shutdown(stream_socket::shutdown_send, ignored);
}

// A token must be made for one of them, so these are only the names that nobody else has.
std::vector<std::string> own_addresses(const bound_address& bound)
{
    std::vector<std::string> all;
    const std::string scheme = bound.is_secure() ? "https://" : "http://";
    for (const auto* name : {"127.0.0.1:", "localhost:", "[::1]:"})
        all.push_back(scheme + name + std::to_string(bound.port()));
    return all;
}

void record_delay(loop_delay::clock::duration waited)
{
    static auto& seconds =
        metrics::all()
            .histograms("cmcp_loop_delay_seconds", "Time that what has just arrived waits until it is looked at.")
            .at();
    seconds.observe(std::chrono::duration<double>(waited).count());
}

// 0: none; else by how much the delay is more than `most`, as a power of two.
unsigned overload_of(loop_delay::clock::duration delay, milliseconds most)
{
    constexpr unsigned worst = 16;
    unsigned grade = 0;
    for (auto limit = std::chrono::duration_cast<loop_delay::clock::duration>(most); delay > limit && grade < worst;
         limit *= 2)
        ++grade;
    return grade;
}

}  // namespace

struct http_server::implementation : std::enable_shared_from_this<http_server::implementation> {
    implementation(asio::io_context& io, const settings& served_config, bound_address address, server_core& served,
                   std::function<json::value()> report_layers, http_parts parts, readiness_check ready)
        : config(served_config),
          core(served),
          layers(std::move(report_layers)),
          more(std::move(parts)),
          is_ready(ready),
          logins(io.get_executor(), config, more.issuers),
          browsers(config),
          guard(config, logins, &browsers),
          listens(io, std::move(address)),
          sessions(io.get_executor(), config, std::make_shared<memory_budget>(config.memory_limit_bytes), more.sessions,
                   handle_maker(more.node), more.sessions_file),
          delay(std::make_shared<loop_delay>(io.get_executor(), record_delay)),
          housekeeping(io.get_executor()),
          connections(io.get_executor()),
          streamable(core, config, sessions),
          sse(core, config, sessions),
          context(config, guard, routes, std::make_shared<deadline_wheel>(io.get_executor()), sessions.budget())
    {
        if (listens.address().is_secure()) context.tls = &entrance.emplace(config);
        context.members = more.members;
        context.limits = more.limits;
        context.pool = core.pool();
        sessions.on_return(
            [this](const std::shared_ptr<session>& who, const json::object& state) { core.take_up(who, state); });
        sessions.on_drop([this](const caller& who) { core.session_ended(who); });
        streamable.add_routes(routes);
        sse.add_routes(routes);
        if (!config.auth_issuers.empty()) add_metadata_routes(routes, config);
        add_tool_routes(routes, core, config);
        if (more.logins.find_key) logins.share(more.logins);
        if (more.routes) more.routes(routes, {guard, sockets});
        add_openapi_route(routes, core.tools());
        add_docs_route(routes);
        add_health_routes(routes, ready, [this] { return details(); });
        add_landing_page(routes, config, std::move(ready), [this] { return details(); });
        add_metrics_route(routes,
                          {update_of_figures(), [this](const http_request& by) { return sees_principals(by); }});
        const bool admits_nameless = config.callers_have_names() || listens.address().is_local();
        if (more.administration != nullptr) {
            add_administration(routes, &guard, admits_nameless);
            add_ui_routes(routes, {config, guard, browsers, more.issuers, admits_nameless, more.members});
        }
        observe();
        core.refuse_while([seen = delay, most = config.shed_delay] { return overload_of(seen->now(), most); });
    }

    ~implementation() { metrics::all().remove(this); }

    void observe()
    {
        auto& figures = metrics::all();
        auto number = [](auto value) { return static_cast<double>(value); };
        figures.observe(this, "cmcp_sessions", "Sessions of the older revisions.",
                        [=, this] { return number(sessions.size()); });
        figures.observe(this, "cmcp_connections", "Connections of clients.",
                        [=, this] { return number(connections.size()); });
        figures.observe(this, "cmcp_requests_in_flight", "MCP requests that run, subscriptions too.",
                        [=, this] { return number(core.requests_in_flight()); });
        figures.observe(this, "cmcp_buffered_bytes", "Memory of messages that wait or are kept, and of request bodies.",
                        [=, this] { return number(sessions.budget()->used()); });
        figures.observe(this, "cmcp_buffered_bytes_limit", "MCP_MEMORY_LIMIT_MB.",
                        [=, this] { return number(sessions.budget()->limit()); });
    }

    admin_pages_ptr pages_of_admin(const request_guard* judges, bool admits_nameless)
    {
        return std::make_shared<admin_pages>(admin_pages{config,
                                                         *more.administration,
                                                         judges,
                                                         sessions,
                                                         streams,
                                                         [this] { return connections.size(); },
                                                         admits_nameless,
                                                         {more.node, more.members}});
    }

    void add_administration(router& to, const request_guard* judges, bool admits_nameless)
    {
        const auto pages = pages_of_admin(judges, admits_nameless);
        add_key_routes(to, config);
        if (more.admin_routes) more.admin_routes(to, pages);
        add_admin_routes(to, pages);
    }

    // Callers see what belongs to them, so figures of all principals are for administrators and for who reads figures.
    bool sees_principals(const http_request& by) const
    {
        if (!config.callers_have_names()) return true;
        if (by.principal.empty() || !by.who) return false;
        return by.who->scopes.covers(scope::admin) ||
               std::ranges::find(config.metrics_readers, by.principal) != config.metrics_readers.end();
    }

    std::function<awaitable<>()> update_of_figures()
    {
        if (more.administration == nullptr) return {};
        return
            [pages = pages_of_admin(nullptr, false)] { return pages->server.update_figures(connections_of(*pages)); };
    }

    void administer_at(asio::io_context& io, bound_address socket)
    {
        admin.emplace(io, std::move(socket), rules_for_administrators(config), logins, sessions.budget());
        admin->context.pool = core.pool();
        admin->context.members = context.members;
        add_act_route(admin->routes);
        add_copy_route(admin->routes, *more.administration);
        add_administration(admin->routes, nullptr, true);
        streamable.add_routes(admin->routes);
        add_tool_routes(admin->routes, core, config);
        if (more.routes) more.routes(admin->routes, {admin->guard, sockets});
        add_health_routes(admin->routes, is_ready, [this] { return details(); });
        add_metrics_route(admin->routes, {update_of_figures(), [](const http_request&) { return true; }});
    }

    // All that clients find, and what members say to each other.
    void admit_members_at(asio::io_context& io, bound_address place)
    {
        members.emplace(io, std::move(place), rules_for_members(config), logins, sessions.budget());
        members->routes = routes;
        members->context.limits = context.limits;
        members->context.pool = core.pool();
        members->context.members = context.members;  // a sandbox may have gone from here
        if (more.member_routes) more.member_routes(members->routes);
    }

    json::object details() const
    {
        json::object figures;
        if (layers) figures["layers"] = layers();
        auto ends = certificates.described(std::time(nullptr));
        if (!ends.empty()) figures["certificates"] = std::move(ends);
        figures["sessions"] = sessions.size();
        figures["requests_in_flight"] = core.requests_in_flight();
        figures["connections"] = connections.size();
        return figures;
    }

    void take_aside(side_entrance& by, std::size_t most, stream_socket socket)
    {
        if (by.connections.size() >= most) return turn_away(std::move(socket), by.context);
        std::shared_ptr<connection_context> shared(shared_from_this(), &by.context);
        by.connections.spawn("side connection", serve_connection(std::move(socket), std::move(shared)));
    }

    void open_aside(side_entrance& by, std::size_t most)
    {
        by.listens.start(housekeeping,
                         [this, &by, most](stream_socket socket) { take_aside(by, most, std::move(socket)); });
        if (by.tls) housekeeping.spawn("certificate", watch_certificate(by.tls->certificate()));
    }

    void take(stream_socket socket)
    {
        if (connections.size() >= config.max_connections) return turn_away(std::move(socket), context);
        std::shared_ptr<connection_context> shared(shared_from_this(), &context);
        connections.spawn("connection", serve_connection(std::move(socket), std::move(shared)));
    }

    const settings& config;
    server_core& core;
    std::function<json::value()> layers;
    http_parts more;
    readiness_check is_ready;
    admin_streams streams;
    gatekeeper logins;
    browser_logins browsers;
    request_guard guard;
    websocket_register sockets;
    router routes;
    listener listens;
    session_store sessions;
    std::shared_ptr<loop_delay> delay;
    certificate_ends certificates{config};
    task_group housekeeping;
    task_group connections;
    streamable_http streamable;
    http_sse sse;
    connection_context context;
    std::optional<tls_entrance> entrance;
    std::optional<side_entrance> admin;
    std::optional<side_entrance> members;
};

http_server::http_server(asio::io_context& io, const settings& config, bound_address address, server_core& core,
                         std::function<json::value()> layers, http_parts parts, readiness_check ready)
    : self_(std::make_shared<implementation>(io, config, std::move(address), core, std::move(layers), std::move(parts),
                                             std::move(ready)))
{
}

http_server::~http_server() = default;

void http_server::administer_at(asio::io_context& io, bound_address socket)
{
    self_->administer_at(io, std::move(socket));
}

void http_server::admit_members_at(asio::io_context& io, bound_address place)
{
    self_->admit_members_at(io, std::move(place));
}

const bound_address& http_server::address() const { return self_->listens.address(); }

void http_server::start()
{
    auto* self = self_.get();
    if (self->config.public_url.empty()) self->logins.serve_at(own_addresses(self->listens.address()));
    self->listens.start(self->housekeeping, [self](stream_socket socket) { self->take(std::move(socket)); });
    if (self->admin) self->open_aside(*self->admin, most_administrators);
    if (self->members) self->open_aside(*self->members, self->config.max_connections);
    auto every = std::clamp(self->config.session_timeout / 4, milliseconds(20), milliseconds(30'000));
    self->housekeeping.spawn("loop delay", self->delay->watch());
    if (self->entrance) {
        self->entrance->certificate().tell();
        self->housekeeping.spawn("certificate", watch_certificate(self->entrance->certificate()));
    }
    self->housekeeping.spawn("ends of certificates", watch_ends(self->certificates));
    self->housekeeping.spawn("sweep", sweep(self->sessions, self->context, every));
    if (self->config.callers_have_names())
        self->housekeeping.spawn("logins", watch_logins(self->logins, self->context.logins));
}

void http_server::reload_certificate()
{
    if (self_->entrance) self_->entrance->certificate().reload();
    if (self_->members) self_->members->tls->certificate().reload();
}

void http_server::tokens_changed() { self_->logins.tokens_changed(); }

awaitable<> http_server::stop()
{
    auto& self = *self_;
    self.listens.close();
    self.context.stopping = true;
    self.streams.end_all();
    for (auto* side : {&self.admin, &self.members})
        if (*side) (*side)->stop();
    self.housekeeping.cancel_all();
    self.context.refused_logins.settle(log::bounded_log::clock::time_point::max());
    self.context.close_idle();
    self.core.refuse_new_requests();
    auto until = std::chrono::steady_clock::now() + self.config.drain_timeout;
    co_await self.core.requests_ended(self.config.drain_timeout);
    // The connections that are left hold streams on which no request answers.
    co_await self.sessions.end_streams();
    if (self.more.end_connections) self.more.end_connections();
    self.sockets.abort_all();
    auto left = std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    const bool drained = co_await self.connections.wait_idle(std::max(left, milliseconds(0)));
    if (!drained || self.core.requests_in_flight() != 0) {
        if (self.core.requests_in_flight() != 0)
            log::warning("drain_timeout", {{"requests_in_flight", self.core.requests_in_flight()}});
        self.core.cancel_all();
        co_await self.connections.wait_idle(ending_limit);
    }
    self.connections.cancel_all();
    self.core.cancel_all();
    co_await self.core.requests_ended(ending_limit);
    co_await self.connections.wait_idle(ending_limit);
    if (self.members) co_await self.members->connections.wait_idle(time_to_hear);
    for (auto* side : {&self.admin, &self.members}) {
        if (!*side) continue;
        (*side)->connections.cancel_all();
        co_await (*side)->connections.wait_idle(ending_limit);
    }
    co_await self.housekeeping.wait_idle(ending_limit);
    co_await self.sessions.keep_all(ending_limit);
}

}  // namespace cmcp
