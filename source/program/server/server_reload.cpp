#include "server/server_reload.hpp"

#include "audit/sink.hpp"
#include "config/config_error.hpp"
#include "config/setting.hpp"
#include "config/settings.hpp"
#include "egress/egress_policy.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
#include "networks/network_lists.hpp"
#include "server/run_loop.hpp"

#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>

#include <csignal>

namespace cmcp::command {

namespace {

struct ready_at_end {
    const service_notice& notice;
    ~ready_at_end() { notice.ready(); }
};

void reopen_log()
try {
    log::reopen();
} catch (const std::exception& failure) {
    log::error("log_not_reopened", {{"reason", failure.what()}});
}

// A server that knows no names would have to close the doors that it has opened to everybody.
bool can_change(const setting& entry, const settings& in_use, const settings& known, const settings& fresh)
{
    if (!entry.live) return false;
    if (entry.name != "MCP_AUTH_TOKENS") return true;
    return in_use.callers_have_names() && !known.auth_tokens.empty() && !fresh.auth_tokens.empty();
}

}  // namespace

json::object settings_reload::report::to_json() const
{
    return {{"changed", json::array(changed.begin(), changed.end())},
            {"needs_restart", json::array(needs_restart.begin(), needs_restart.end())}};
}

settings_reload::settings_reload(settings_sources from, settings known, settings& in_use, std::function<void()> applies)
    : from_(std::move(from)), in_use_(in_use), applies_(std::move(applies)), known_(std::move(known))
{
}

settings_reload::report settings_reload::run()
{
    report done;
    const settings fresh = load_settings(from_).values;
    egress_policy::from_settings(fresh);  // throws for an entry that is none
    network_lists::of(fresh);             // so does this
    for (const auto& entry : setting_table()) {
        const auto value = entry.print(fresh);
        if (value == entry.print(known_)) continue;
        const bool changes = can_change(entry, in_use_, known_, fresh);
        (changes ? done.changed : done.needs_restart).emplace_back(entry.name);
        if (!changes) continue;
        entry.parse(in_use_, value);
        entry.parse(known_, value);
    }
    if (fresh.upstreams != known_.upstreams) done.needs_restart.emplace_back("upstream");
    applies_();
    return done;
}

server_reload::server_reload(settings_sources from, settings known, settings& in_use, application& app,
                             http_server& server, const service_notice& notice)
    : config_(in_use),
      app_(app),
      server_(server),
      notice_(notice),
      settings_(std::move(from), std::move(known), in_use, [this] { apply(); })
{
}

void server_reload::apply()
{
    log::set_threshold(level_named(config_.log_level));
    app_.settings_changed();
    server_.tokens_changed();
}

settings_reload::report server_reload::run()
{
    notice_.reloading();
    const ready_at_end mark{notice_};
    reopen_log();
    server_.reload_certificate();
    auto report = settings_.run();
    log::info("reloaded",
              {{"changed", report.to_json().at("changed")}, {"needs_restart", report.to_json().at("needs_restart")}});
    return report;
}

json::object server_reload::for_caller()
try {
    return run().to_json();
} catch (const config_error& wrong) {
    throw http_refusal(409, "The settings cannot be used, and none has changed: " + std::string(wrong.what()));
}

awaitable<> server_reload::at_hangups()
{
    const auto executor = co_await asio::this_coro::executor;
    asio::signal_set hangup(executor, SIGHUP);
    for (;;) {
        co_await hangup.async_wait(asio::use_awaitable);
        try {
            const auto done = jsonrpc::write_json(run().to_json());
            audit::add(audit::kind::admin,
                       {{"credential", "signal"}, {"method", "SIGHUP"}, {"concerns", done}, {"cause", "ok"}});
        } catch (const config_error& wrong) {
            log::error("not_reloaded", {{"reason", wrong.what()}});
        }
    }
}

}  // namespace cmcp::command
