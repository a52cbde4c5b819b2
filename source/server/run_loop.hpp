#pragma once

#include "async/asio.hpp"
#include "config/load_settings.hpp"
#include "log/log.hpp"

#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace cmcp::command {

/// SIGTERM and SIGINT: the first asks to stop in good order, the second ends the process at once (the launcher and
/// every run die with it).
class stop_signals {
public:
    explicit stop_signals(asio::any_io_executor executor);
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;

    /// Calls `action` at the first signal; at once when a signal has come already.
    void on_first(std::function<void()> action);

private:
    void wait();
    void received(int number);

    asio::signal_set set_;
    std::function<void()> action_;
    bool asked_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // a signal may be on its way while this is destroyed
};

/// Cancelled work ends within this time, before the objects that it uses are destroyed.
inline constexpr std::chrono::seconds time_to_end{3};

/// SIGPIPE and SIGHUP do nothing from now on. The call comes after the launcher's start, because programs inherit
/// ignored signals.
void ignore_signals();

/// That of LOG_LEVEL's value.
log::level level_named(std::string_view name);

/// Log as configured, and the warnings of the configuration into it.
void start_log(const loaded_settings& loaded);

/// Runs `work` to its end, waits a little for the coroutines that it leaves behind, and rethrows its exception.
void run_loop(asio::io_context& io, awaitable<> work);

}  // namespace cmcp::command
