#pragma once

#include "run.hpp"

#include <deque>
#include <map>
#include <memory>

namespace cmcp::sandbox {

/// The launcher's loop: starts, watches and ends runs as the server asks over the socket.
class launcher {
public:
    launcher(unique_fd server, bool use_cgroups);

    /// Until the server closes the socket or SIGTERM comes; every run has ended then.
    void serve();

private:
    void greet();
    void wait_and_handle();
    int milliseconds_to_next_event() const;
    void handle(std::uint64_t tag);
    void read_server();
    void take_message(packet message);
    void start(packet message);
    void refuse(std::uint64_t id, const std::string& why);
    void watch(int fd, std::uint64_t tag);
    void end(std::uint64_t id);
    void send(std::string message);
    void flush();

    unique_fd server_;
    unique_fd poll_;
    unique_fd signals_;
    cgroup_parent cgroups_;
    identities ids_;
    std::string obstacle_;                  ///< why no run can be started; empty: all is well
    call_filters filters_;
    std::unique_ptr<view_store> views_;
    bool with_time_namespace_;
    std::map<std::uint64_t, std::unique_ptr<run>> runs_;
    std::deque<std::string> outbox_;
    bool done_ = false;
};

}  // namespace cmcp::sandbox
