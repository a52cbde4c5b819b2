#pragma once

#include "browser_host/browser_jail.hpp"
#include "jail/watchdog.hpp"
#include "posix/unique_fd.hpp"

#include <span>
#include <string>

namespace cmcp::browser_host {

/// Makes one browser as the server asks over the socket, and ends it with the socket. Ends its largest processes when
/// all together pass the limit of memory: mostly the page that is to blame, so that the others go on.
class host {
public:
    explicit host(unique_fd server) : server_(std::move(server)) {}
    host(const host&) = delete;
    host& operator=(const host&) = delete;
    ~host();

    /// Until the browser is gone or the server closes the socket. Nothing of the browser is left then.
    void serve();

private:
    jail_plan receive_plan();
    void launch(jail_plan plan);
    void watch();
    bool hear_browser();
    void read_error();
    int milliseconds_to_next_look() const;  ///< -1: there is nothing to look at
    void look_at_memory();
    void tell(const browser_host_protocol::event_message& message, std::span<const int> descriptors = {});

    unique_fd server_;
    sandbox::cloned child_;
    unique_fd control_;
    unique_fd error_;
    std::string error_tail_;
    std::uint64_t memory_limit_ = 0;
    std::uint32_t proxies_ = 0;
    sandbox::usage_meter meter_;
    std::uint64_t used_ = 0;  ///< bytes, as last measured
};

}  // namespace cmcp::browser_host
