#pragma once

#include "jsonrpc/json.hpp"
#include "launcher/prepared_profiles.hpp"
#include "launcher/run.hpp"
#include "launcher/starts_on_hold.hpp"
#include "launcher/waiting_commands.hpp"

#include <deque>
#include <map>
#include <memory>

namespace cmcp::sandbox {

struct launcher_settings {
    bool use_cgroups = true;
    std::string firejail;     ///< path of the program that confines runs; empty: the launcher does it itself
    std::string workspaces;   ///< the folder below which every workspace must be; empty: anywhere
    std::size_t waiting = 0;  ///< runs that wait, confined, for the next program of the caller that came last
};

/// The launcher's loop: starts, watches and ends runs as the server asks over the socket.
class launcher final : run_keeper {
public:
    launcher(unique_fd server, launcher_settings chosen);

    /// Until the server closes the socket or SIGTERM comes; every run has ended then.
    void serve();

private:
    void wait_and_handle();
    int milliseconds_to_next_event() const;
    void handle(std::uint64_t tag);
    void read_server();
    void take_message(packet message);
    void receive_start(packet message);
    void prepare(zygote_options wanted);
    void start(start_message wanted, std::vector<unique_fd> descriptors);
    void cancel(std::uint64_t id);
    void report_cancelled(std::uint64_t id);
    void refuse(std::uint64_t id, const std::string& why);
    void end(std::uint64_t key);
    void watch_refusals(std::uint64_t key, const run& of);
    void look_at_runs();
    std::size_t running() const;
    void enter_place(json::object& facts);
    bool with_apparmor() const { return no_apparmor_.empty() && firejail_ == nullptr; }

    void watch(int fd, std::uint64_t tag) override;
    workshop shop() override
    {
        return {ids_,     views_.get(),         workspaces_,     cgroups_,
                filters_, with_time_namespace_, with_apparmor(), firejail_.get()};
    }
    void keep(std::uint64_t key, std::unique_ptr<run> made) override { runs_.emplace(key, std::move(made)); }
    void watch_run(std::uint64_t key) override;
    run* find(std::uint64_t key) override;
    void drop(std::uint64_t key) override;
    void start_cold(start_message wanted, std::vector<unique_fd> descriptors) override;
    void tell(const std::string& state) override { send(encode_prepared(state)); }

    void send(std::string message);
    void flush();

    unique_fd server_;
    launcher_settings chosen_;
    unique_fd poll_;
    unique_fd signals_;
    cgroup_parent cgroups_;
    identities ids_;
    std::string obstacle_;  ///< why no run can be started; empty: all is well
    call_filters filters_;
    std::unique_ptr<firejail> firejail_;  ///< or
    std::unique_ptr<view_store> views_;
    workspace_ledger workspaces_;
    starts_on_hold on_hold_{workspaces_};
    bool with_time_namespace_;
    std::string no_apparmor_;                             // why runs enter no profile; empty: they do
    std::map<std::uint64_t, std::unique_ptr<run>> runs_;  ///< by id, or by the key they had before they began
    std::unique_ptr<prepared_profiles> prepared_;
    waiting_commands commands_;
    std::map<std::uint64_t, int> refusals_watched_;  // run to descriptor
    std::deque<std::string> outbox_;
    bool done_ = false;
};

}  // namespace cmcp::sandbox
