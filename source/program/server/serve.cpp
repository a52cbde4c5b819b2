#include "server/serve.hpp"

#include "async/event.hpp"
#include "async/task_group.hpp"
#include "cluster/members.hpp"
#include "config/settings.hpp"
#include "entrances/http_server.hpp"
#include "entrances/side_entrance.hpp"
#include "http/bound_address.hpp"
#include "log/log.hpp"
#include "server/access_token.hpp"
#include "server/admin_socket.hpp"
#include "server/application.hpp"
#include "server/audit_start.hpp"
#include "server/balancer_agent.hpp"
#include "server/greeting.hpp"
#include "server/loop_report.hpp"
#include "server/run_loop.hpp"
#include "server/server_reload.hpp"
#include "server/service_notice.hpp"
#include "server/stdio_relay.hpp"
#include "tls/server_certificate.hpp"
#include "tools/tools.hpp"
#include "transport/stdio.hpp"
#include "transport/stdio_entrance.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>

#include <sys/resource.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

void log_listening(const bound_address& bound)
{
    const std::string url = bound.url();
    log::info("listening", {{"address", json::string(bound.path().empty() ? bound.ip().to_string() : bound.path())},
                            {"port", bound.port()},
                            {"streamable_http", json::string(url + "/mcp")},
                            {"sse", json::string(url + "/sse")}});
}

void log_address(const bound_address& bound, const settings& config)
{
    log_listening(bound);
    if (!bound.is_local() && !config.callers_have_names()) {
        log::warning(
            "open_to_the_network",
            {{"advice", "anyone who reaches this address can run code: set MCP_AUTH=auto or MCP_AUTH_TOKENS"}});
    }
    const auto& origins = config.allowed_origins;
    if (!config.callers_have_names() && std::find(origins.begin(), origins.end(), "*") != origins.end())
        log::warning("open_to_web_pages", {{"advice",
                                            "any page in a browser on this machine can run code: set MCP_AUTH_TOKENS, "
                                            "or name the pages in MCP_ALLOWED_ORIGINS"}});
    if (bound.is_unspecified() && config.allowed_hosts.empty()) {
        log::warning("only_loopback_names", {{"advice",
                                              "clients that reach this machine by another name than localhost get 403: "
                                              "name those in MCP_ALLOWED_HOSTS"}});
    }
}

void log_cluster(const settings& config)
{
    if (config.cluster_etcd.empty()) return;
    const auto own = members(config).own();
    log::info("cluster", {{"node", own.name},
                          {"members_reach_it_at", own.host + ":" + std::to_string(own.port)},
                          {"listens_at", config.cluster_listen}});
}

// The only place where the token is shown. Lines of JSON are for programs, which read the file.
void show_fresh_token(const std::string& url, const settings& config, const access_token& access)
{
    if (access.file.empty()) return;
    log::info(access.fresh ? "token_made" : "token_kept", {{"file", json::string(access.file.string())}});
    if (!access.fresh || (config.log_format == "json" && config.log_file.empty())) return;
    const std::string header = "Authorization: Bearer " + config.auth_tokens.front().second;
    std::cerr << "\nCallers need a token here. This is shown once; " << access.file.string() << " keeps it.\n"
              << "  connect   claude mcp add --transport http container-mcp \"" << url
              << "/mcp?profile=agent\" --header \"" << header << "\"\n"
              << "  others    send the header \"" << header << "\"\n"
              << "Your own tokens: MCP_AUTH_TOKENS=name=token,… None at all: MCP_AUTH=none.\n\n"
              << std::flush;
}

// A person sees the greeting instead of the start's events; warnings stay.
bool greets(const settings& config)
{
    return ::isatty(STDERR_FILENO) != 0 && config.log_file.empty() && config.log_level == "INFO" &&
           config.log_format == "text";
}

awaitable<> greet(application& app, const bound_address& bound, const settings& config)
{
    co_await app.python_settles();
    std::cerr << greeting(bound, config, app.layers()) << std::flush;
    log::set_threshold(log::level::info);
}

// As many descriptors as connections are allowed, as far as the system lets us. It comes after the launcher's start,
// because the launcher and its runs inherit the limit.
void raise_descriptor_limit(const loaded_settings& loaded)
{
    const std::size_t connections = loaded.values.max_connections;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t wanted = connections + 1024;
    if (limit.rlim_cur >= wanted) return;
    const rlimit more{wanted, std::max(limit.rlim_max, wanted)};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

awaitable<> until_stopped(stop_signals& signals)
{
    event signalled;
    bool stopped = false;
    signals.on_first([&] {
        stopped = true;
        signalled.notify();
    });
    while (!stopped) co_await signalled.wait();
    signals.on_first({});
}

// A second signal meanwhile ends the process (stop_signals).
awaitable<> say_that_it_ends(application& app, std::chrono::milliseconds notice)
{
    app.drain();
    if (notice.count() == 0) co_return;
    log::info("draining", {{"seconds", std::chrono::duration<double>(notice).count()}});
    const auto executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, notice);
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<> end(application& app, stop_signals& signals)
{
    signals.waits_for("the tasks of calls");
    co_await app.core().tasks_ended(time_to_end);
    signals.waits_for("sandboxes, kernels and shells");
    co_await app.stop();
    signals.waits_for("threads that read and write files");
    log::info("stopped");
}

// A bad certificate is told before anything is started.
void require_certificate(const settings& config)
{
    if (!config.tls_cert.empty()) const server_certificate readable(config);
    if (config.cluster_etcd.empty()) return;
    try {
        const server_certificate readable(settings_for_members(config));
    } catch (const certificate_problem& problem) {
        throw certificate_problem(std::string("For the members of the cluster, with CLUSTER_CERT, CLUSTER_KEY and "
                                              "CLUSTER_CA in place of those of clients: ") +
                                  problem.what());
    }
}

// Of MCP_AGENT_LISTEN and CLUSTER_LISTEN; nothing: nobody listens there.
std::optional<bound_address> address_of(const std::string& host_and_port, bool secure)
{
    const auto place = read_host_and_port(host_and_port);
    if (!place) return std::nullopt;
    return bound_address(place->first, place->second, secure);
}

// The socket of administrators. A server without one serves all the same.
std::optional<bound_address> admin_socket(const settings& config)
try {
    return bound_address("unix:" + own_server(config).socket, 0);
} catch (const std::exception& failure) {
    log::warning("no_admin_socket", {{"reason", failure.what()}});
    return std::nullopt;
}

// Everything that a server begins with, in the order of its making.
struct beginning {
    settings_sources sources;
    settings loaded;
    bound_address address;
    std::optional<bound_address> admin;
    std::optional<bound_address> stdio;
    std::optional<bound_address> members;
    std::optional<bound_address> agent;
    access_token access;
    started_sandbox started;
    service_notice notice;
    const audit::writer* audit;
};

awaitable<> serve_http(asio::io_context& io, stop_signals& signals, settings& config, beginning parts)
{
    application app(io.get_executor(), config, std::move(parts.started), parts.audit);
    co_await app.prepare();
    http_server server(
        io, config, std::move(parts.address), app.core(), [&app]() -> json::value { return layers_json(app.layers()); },
        app.parts_of_http(), [&app] { return app.ready().problems(); });
    if (parts.admin) server.administer_at(io, std::move(*parts.admin));
    if (parts.members) server.admit_members_at(io, std::move(*parts.members));
    server_reload reload(std::move(parts.sources), std::move(parts.loaded), config, app, server, parts.notice);
    app.reload_by([&reload] { return reload.for_caller(); });
    server.start();
    std::optional<stdio_entrance> relayed;
    if (parts.stdio) relayed.emplace(io, std::move(*parts.stdio), app.core(), config, "serve").start();
    std::optional<listener> agent;
    if (parts.agent) agent.emplace(io, std::move(*parts.agent));
    task_group care(io.get_executor());
    care.spawn("reloading", reload.at_hangups());
    care.spawn("watchdog of the service", parts.notice.keep_alive());
    const bound_address& bound = server.address();
    app.set_public_url(bound.url());
    log_address(bound, config);
    log_cluster(config);
    parts.notice.ready();
    show_fresh_token(bound.url(), config, parts.access);
    if (greets(config)) co_await greet(app, bound, config);
    if (agent) answer_balancers(*agent, care, [&app] { return app.balancer_line(); });
    const loop_report steps;
    co_await until_stopped(signals);
    parts.notice.stopping();
    co_await say_that_it_ends(app, config.drain_notice);
    co_await app.say_that_it_leaves();
    app.core().refuse_new_requests();
    care.cancel_all();
    if (relayed) relayed->stop();
    signals.waits_for("calls and connections");
    co_await server.stop();
    if (relayed) co_await relayed->ended(config.drain_timeout);
    co_await end(app, signals);
}

constexpr auto one_day = std::chrono::hours(24);

awaitable<> serve_one(asio::io_context& io, stop_signals& signals, const settings& config,
                      std::optional<bound_address> socket, started_sandbox started, const audit::writer* audit)
{
    const auto executor = io.get_executor();
    application app(executor, config, std::move(started), audit);
    co_await app.prepare();
    std::optional<stdio_entrance> relayed;
    if (socket) relayed.emplace(io, std::move(*socket), app.core(), config, "stdio").start();
    const loop_report steps;
    task_group serving(executor);
    // Requests of the others that come from now on wait for the next server.
    auto input_ended = [&relayed] {
        if (relayed) relayed->stop();
    };
    serving.spawn("stdio", serve_stdio(app.core(), config, STDIN_FILENO, STDOUT_FILENO, std::move(input_ended)));
    signals.on_first([&serving] { serving.cancel_all(); });
    bool idle = false;
    while (!idle) idle = co_await serving.wait_idle(one_day);
    signals.on_first({});
    if (relayed) relayed->stop();
    if (relayed) co_await relayed->ended(config.drain_timeout);
    co_await end(app, signals);
}

}  // namespace

int serve(const loaded_settings& loaded, const settings_sources& sources)
{
    service_notice notice;
    start_log(loaded);
    if (greets(loaded.values)) log::set_threshold(log::level::warning);
    settings config = loaded.values;
    require_certificate(config);
    bound_address address(config.host, config.port, !config.tls_cert.empty());
    prepare_sandbox_root(config);
    auto admin = admin_socket(config);
    auto stdio = stdio_socket(config);
    auto members = address_of(config.cluster_listen, true);
    auto agent = address_of(config.agent_listen, false);
    access_token access = settle_access(config);
    const auto audit = open_audit(config);
    started_sandbox started = start_sandbox(config);
    raise_descriptor_limit(loaded);
    open_step_record();
    confine_this_process(started, config, audit.get(), settings_files(sources));
    ignore_signals();
    const audit_in_use records(audit.get(), "serve");
    stop_signals signals(stop_limits(config));
    asio::io_context io(1);
    const stop_signals::loop stopped_by_signals(signals, io.get_executor());
    beginning parts{sources,           loaded.values,     std::move(address),
                    std::move(admin),  std::move(stdio),  std::move(members),
                    std::move(agent),  std::move(access), std::move(started),
                    std::move(notice), audit.get()};
    run_loop(io, serve_http(io, signals, config, std::move(parts)));
    return 0;
}

int stdio(const loaded_settings& loaded, const own_start& again)
{
    start_log(loaded);
    if (::isatty(STDIN_FILENO) != 0) {
        std::cerr << "container-mcp stdio speaks JSON-RPC, one message a line, with the program that starts it; this "
                     "is a terminal.\n"
                     "Ctrl+D ends it. `container-mcp serve` serves over HTTP.\n";
    }
    prepare_sandbox_root(loaded.values);
    auto relayed = relay_stdio(loaded, again);
    if (const auto* code = std::get_if<int>(&relayed)) return *code;
    const auto audit = open_audit(loaded.values);
    started_sandbox started = start_sandbox(loaded.values);
    open_step_record();
    confine_this_process(started, loaded.values, audit.get());
    ignore_signals();
    const audit_in_use records(audit.get(), "stdio");
    stop_signals signals(stop_limits(loaded.values));
    asio::io_context io(1);
    const stop_signals::loop stopped_by_signals(signals, io.get_executor());
    auto& socket = std::get<std::optional<bound_address>>(relayed);
    run_loop(io, serve_one(io, signals, loaded.values, std::move(socket), std::move(started), audit.get()));
    return 0;
}

}  // namespace cmcp::command
