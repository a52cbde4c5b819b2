#pragma once

#include "async/asio.hpp"
#include "async/stop_signals.hpp"
#include "config/load_settings.hpp"
#include "log/log.hpp"

#include <chrono>

namespace cmcp::command {

/// Cancelled work ends within this time, before the objects that it uses are destroyed.
inline constexpr std::chrono::seconds time_to_end{3};

/// How long the stop of a server may take (docs/cluster.md): calls have the settings' time, what they leave is ended
/// and kept in the rest.
stop_signals::limits stop_limits(const settings& config);

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
