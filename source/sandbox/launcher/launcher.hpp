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
    void receive_start(packet message);
    void start(start_message wanted, std::vector<unique_fd> descriptors);
    void start_those_that_waited();
    bool must_wait(const start_message& wanted);
    bool cancel_waiting(std::uint64_t id);
    void refuse(std::uint64_t id, const std::string& why);
    void watch(int fd, std::uint64_t tag);
    void end(std::uint64_t id);
    void watch_refusals(std::uint64_t id, const run& of);
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
    workspace_ledger workspaces_;
    bool with_time_namespace_;
    std::string no_apparmor_;               // why runs enter no profile; empty: they do
    std::map<std::uint64_t, std::unique_ptr<run>> runs_;
    std::map<std::uint64_t, int> refusals_watched_;     // run to descriptor
    struct waiting_start {
        start_message wanted;
        std::vector<unique_fd> descriptors;
    };
    std::deque<waiting_start> waiting_;     // for a count of their workspace
    std::deque<std::string> outbox_;
    bool done_ = false;
};

}  // namespace cmcp::sandbox
