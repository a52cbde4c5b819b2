#include "server/run_loop.hpp"

#include "config/settings.hpp"
#include "log/log.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <csignal>
#include <exception>

namespace cmcp::command {

namespace {

constexpr auto time_to_unwind = std::chrono::seconds(5);
constexpr auto time_for_held_loop = std::chrono::seconds(5);
constexpr auto time_for_rest = std::chrono::seconds(40);  // a member of a cluster needs up to 25 to keep its sandboxes

}  // namespace

log::level level_named(std::string_view name)
{
    const auto& names = log::level_names;
    return static_cast<log::level>(std::find(names.begin(), names.end(), name) - names.begin());
}

stop_signals::limits stop_limits(const settings& config)
{
    const auto calls = config.drain_notice + config.drain_timeout;
    return {calls + time_for_held_loop, calls + time_for_rest};
}

void ignore_signals()
{
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
}

void start_log(const loaded_settings& loaded)
{
    const std::string file = loaded.values.log_file.string();
    log::configure({level_named(loaded.values.log_level), loaded.values.log_format == "json", file});
    for (const auto& sentence : loaded.warnings) log::warning("configuration", {{"warning", json::string(sentence)}});
}

void run_loop(asio::io_context& io, awaitable<> work)
{
    std::exception_ptr failure;
    asio::co_spawn(io, std::move(work), [&](std::exception_ptr thrown) {
        failure = thrown;
        io.stop();
    });
    // A single run(): Asio keeps the memory of frames and handlers for the next ones only within one call.
    io.run();
    io.restart();
    io.run_for(time_to_unwind);
    if (!io.stopped()) log::warning("work_left_at_the_end");
    if (failure) std::rethrow_exception(failure);
}

}  // namespace cmcp::command
