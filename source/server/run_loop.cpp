#include "server/run_loop.hpp"

#include "log/log.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>

namespace cmcp::command {

namespace {

constexpr auto time_to_unwind = std::chrono::seconds(5);

}  // namespace

log::level level_named(std::string_view name)
{
    const auto& names = log::level_names;
    return static_cast<log::level>(std::find(names.begin(), names.end(), name) - names.begin());
}

stop_signals::stop_signals(asio::any_io_executor executor) : set_(executor, SIGTERM, SIGINT) { wait(); }

void stop_signals::on_first(std::function<void()> action)
{
    action_ = std::move(action);
    if (asked_ && action_) action_();
}

void stop_signals::wait()
{
    set_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& failure, int number) {
        if (!failure && !alive.expired()) received(number);
    });
}

void stop_signals::received(int number)
{
    if (asked_) {
        log::warning("stopped_at_once", {{"signal", number}});
        std::_Exit(128 + number);
    }
    asked_ = true;
    log::info("stopping", {{"signal", number}});
    wait();
    if (action_) action_();
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
