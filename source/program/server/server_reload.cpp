#include "server/server_reload.hpp"

#include "audit/sink.hpp"
#include "config/config_error.hpp"
#include "config/settings.hpp"
#include "http/http_refusal.hpp"
#include "jsonrpc/write_json.hpp"
#include "log/log.hpp"
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

}  // namespace

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
