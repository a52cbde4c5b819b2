#pragma once

#include "browser_host/browser_jail.hpp"
#include "browser_host/memory_watch.hpp"
#include "posix/unique_fd.hpp"

#include <span>
#include <string>

namespace cmcp::browser_host {

/// Makes one browser as the server asks over the socket, watches its memory, and ends it with the socket.
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
    void look_at_memory();
    void tell(browser_host_protocol::event_message message, std::span<const int> descriptors = {});

    unique_fd server_;
    sandbox::cloned child_;
    unique_fd control_;
    unique_fd error_;
    std::string error_tail_;
    std::uint64_t memory_limit_ = 0;
    std::uint32_t proxies_ = 0;
    memory_watch memory_;
};

}  // namespace cmcp::browser_host
