#include "async/event.hpp"
#include "async/task_group.hpp"
#include "http/listener.hpp"
#include "log/log.hpp"
#include "server/access_token.hpp"
#include "server/application.hpp"
#include "server/commands.hpp"
#include "server/diagnosis.hpp"
#include "server/run_loop.hpp"
#include "tools/tools.hpp"
#include "transport/http_server.hpp"
#include "transport/stdio.hpp"
#include "web/web_browser.hpp"

#include <algorithm>
#include <iostream>

#include <sys/resource.h>
#include <unistd.h>

namespace cmcp::command {

namespace {

std::string url_of(const asio::ip::tcp::endpoint& bound)
{
    const auto address = bound.address();
    const bool any = address.is_unspecified();
    const std::string name = any ? (address.is_v6() ? "::1" : "127.0.0.1") : address.to_string();
    return "http://" + (address.is_v6() ? "[" + name + "]" : name) + ":" + std::to_string(bound.port());
}

void log_address(const asio::ip::tcp::endpoint& bound, const settings& config)
{
    const std::string url = url_of(bound);
    log::info("listening", {{"address", json::string(bound.address().to_string())},
                            {"port", bound.port()},
                            {"streamable_http", json::string(url + "/mcp")},
                            {"sse", json::string(url + "/sse")}});
    if (!bound.address().is_loopback() && config.auth_tokens.empty()) {
        log::warning(
            "open_to_the_network",
            {{"advice", "anyone who reaches this address can run code: set MCP_AUTH=auto or MCP_AUTH_TOKENS"}});
    }
    const auto& origins = config.allowed_origins;
    if (config.auth_tokens.empty() && std::find(origins.begin(), origins.end(), "*") != origins.end())
        log::warning("open_to_web_pages", {{"advice",
                                            "any page in a browser on this machine can run code: set MCP_AUTH_TOKENS, "
                                            "or name the pages in MCP_ALLOWED_ORIGINS"}});
    if (bound.address().is_unspecified() && config.allowed_hosts.empty()) {
        log::warning("only_loopback_names", {{"advice",
                                              "clients that reach this machine by another name than localhost get 403: "
                                              "name those in MCP_ALLOWED_HOSTS"}});
    }
}

std::string sandbox_line(const sandbox::layers& layers, const settings& config)
{
    const auto required = required_layers(layers, config);
    const diagnosis about = diagnose(layers, required);
    const bool all = sandbox::missing(layers, required).empty();
    return std::to_string(about.on) + " layers on, all required ones" + (all ? "" : " but that of web_browse") +
           " (`container-mcp doctor` tells more)";
}

std::string python_line(const sandbox::layers& layers)
{
    const auto named = [](const sandbox::layer& each) { return each.name == "python_zygote"; };
    const auto at = std::find_if(layers.begin(), layers.end(), named);
    if (at == layers.end()) return "cold";
    if (at->is == sandbox::layer::state::on) return "fast: an interpreter is kept loaded";
    return "cold: " + at->detail;
}

std::string browser_line(const settings& config)
{
    if (!config.enable_web) return "off: TOOLS_ENABLE_WEB is false";
    const std::string obstacle = browser_obstacle(config);
    return obstacle.empty() ? "ready: it starts with the first page" : "none: " + obstacle;
}

std::string token_line(bool loopback, const settings& config)
{
    if (!config.auth_tokens.empty() && config.auth_tokens.front().first.empty())
        return "1, kept in " + (config.sandbox_root / "auth-token").string() +
               ": clients send `Authorization: Bearer …`";
    if (!config.auth_tokens.empty())
        return std::to_string(config.auth_tokens.size()) + ": clients send `Authorization: Bearer …`";
    if (loopback) return "none: only programs on this machine may connect";
    return "none: whoever reaches this address can run code here; set MCP_AUTH=auto or MCP_AUTH_TOKENS";
}

std::string connect_line(const std::string& url, const settings& config)
{
    std::string line = "claude mcp add --transport http container-mcp " + url + "/mcp";
    return config.auth_tokens.empty() ? line : line + " --header \"Authorization: Bearer …\"";
}

// The only place where the token is shown. Lines of JSON are for programs, which read the file.
void show_fresh_token(const std::string& url, const settings& config, const access_token& access)
{
    if (access.file.empty()) return;
    log::info(access.fresh ? "token_made" : "token_kept", {{"file", json::string(access.file.string())}});
    if (!access.fresh || (config.log_format == "json" && config.log_file.empty())) return;
    const std::string header = "Authorization: Bearer " + config.auth_tokens.front().second;
    std::cerr << "\nCallers need a token here. This is shown once; " << access.file.string() << " keeps it.\n"
              << "  connect   claude mcp add --transport http container-mcp " << url << "/mcp --header \"" << header
              << "\"\n"
              << "  others    send the header \"" << header << "\"\n"
              << "Your own tokens: MCP_AUTH_TOKENS=name=token,… None at all: MCP_AUTH=none.\n\n"
              << std::flush;
}

// Address, sandbox, Python, browser, tokens and the line to paste into a client.
std::string greeting(const std::string& url, bool loopback, const settings& config, const sandbox::layers& layers)
{
    return "\nContainer-MCP " CMCP_VERSION "   " + url + "   (a browser shows there how to connect, and " + url +
           "/docs every tool)\n"
           "  sandbox   " +
           sandbox_line(layers, config) +
           "\n"
           "  python    " +
           python_line(layers) +
           "\n"
           "  browser   " +
           browser_line(config) +
           "\n"
           "  tokens    " +
           token_line(loopback, config) +
           "\n"
           "  connect   " +
           connect_line(url, config) +
           "\n"
           "Ctrl+C ends it.\n\n";
}

// A person sees the greeting instead of the start's events; warnings stay.
bool greets(const settings& config)
{
    return ::isatty(STDERR_FILENO) != 0 && config.log_file.empty() && config.log_level == "INFO" &&
           config.log_format == "text";
}

awaitable<> greet(application& app, asio::ip::tcp::endpoint bound, const settings& config)
{
    co_await app.python_settles();
    std::cerr << greeting(url_of(bound), bound.address().is_loopback(), config, app.layers()) << std::flush;
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
    const bool by_user = loaded.origins.contains("MCP_MAX_CONNECTIONS");
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted && by_user)
        log::info("descriptors",
                  {{"allowed", limit.rlim_cur}, {"advice", "MCP_MAX_CONNECTIONS is more than `ulimit -Hn` allows"}});
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

awaitable<> end(application& app)
{
    co_await app.core().tasks_ended(time_to_end);
    co_await app.stop();
    log::info("stopped");
}

awaitable<> serve_http(asio::io_context& io, const settings& config, access_token access, started_sandbox started)
{
    stop_signals signals(io.get_executor());
    application app(io.get_executor(), config, std::move(started));
    co_await app.prepare();
    http_server server(
        io, config, app.core(), [&app]() -> json::value { return layers_json(app.layers()); }, app.files(),
        [&app] { return app.ready().problems(); });
    server.start();
    app.set_public_url(url_of(server.local_endpoint()));
    log_address(server.local_endpoint(), config);
    show_fresh_token(url_of(server.local_endpoint()), config, access);
    if (greets(config)) co_await greet(app, server.local_endpoint(), config);
    co_await until_stopped(signals);
    app.core().refuse_new_requests();
    co_await server.stop();
    co_await end(app);
}

constexpr auto one_day = std::chrono::hours(24);

awaitable<> serve_one(asio::any_io_executor executor, const settings& config, started_sandbox started)
{
    stop_signals signals(executor);
    application app(executor, config, std::move(started));
    co_await app.prepare();
    task_group serving(executor);
    serving.spawn("stdio", serve_stdio(app.core(), config, STDIN_FILENO, STDOUT_FILENO));
    signals.on_first([&serving] { serving.cancel_all(); });
    bool idle = false;
    while (!idle) idle = co_await serving.wait_idle(one_day);
    signals.on_first({});
    co_await end(app);
}

}  // namespace

int serve(const loaded_settings& loaded)
{
    start_log(loaded);
    if (greets(loaded.values)) log::set_threshold(log::level::warning);
    settings config = loaded.values;
    listener::try_address(config.host, config.port);
    prepare_sandbox_root(config);
    access_token access = settle_access(config);
    started_sandbox started = start_sandbox(config);
    raise_descriptor_limit(loaded);
    confine_this_process(started, config);
    ignore_signals();
    asio::io_context io(1);
    run_loop(io, serve_http(io, config, std::move(access), std::move(started)));
    return 0;
}

int stdio(const loaded_settings& loaded)
{
    start_log(loaded);
    if (::isatty(STDIN_FILENO) != 0) {
        std::cerr << "container-mcp stdio speaks JSON-RPC, one message a line, with the program that starts it; this "
                     "is a terminal.\n"
                     "Ctrl+D ends it. `container-mcp serve` serves over HTTP.\n";
    }
    prepare_sandbox_root(loaded.values);
    started_sandbox started = start_sandbox(loaded.values);
    confine_this_process(started, loaded.values);
    ignore_signals();
    asio::io_context io(1);
    run_loop(io, serve_one(io.get_executor(), loaded.values, std::move(started)));
    return 0;
}

}  // namespace cmcp::command
