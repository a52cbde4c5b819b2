#pragma once

#include "async/asio.hpp"
#include "posix/unique_fd.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace cmcp::command {

/// Tells a service manager how the server is (sd_notify(3)), where one has set NOTIFY_SOCKET. Made before the process
/// confines itself, because the socket is connected then.
class service_notice {
public:
    service_notice();  ///< takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment

    void ready() const;
    void reloading() const;  ///< ready() must follow
    void stopping() const;

    /// Says that the event loop goes round, twice in the time that the manager has set; ends at once without one.
    awaitable<> keep_alive() const;

private:
    void send(std::string_view text) const;

    unique_fd socket_;
    std::chrono::microseconds watchdog_{0};  // 0: none
};

}  // namespace cmcp::command
