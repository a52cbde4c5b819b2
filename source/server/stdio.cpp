#include "transport/stdio.hpp"

#include "async/task_group.hpp"
#include "log/log.hpp"
#include "server/application.hpp"
#include "server/commands.hpp"
#include "server/run_loop.hpp"

#include <iostream>

#include <unistd.h>

namespace cmcp::command {

namespace {

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
    co_await app.core().tasks_ended(time_to_end);
    co_await app.stop();
    log::info("stopped");
}

}  // namespace

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
