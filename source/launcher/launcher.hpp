#pragma once

#include "jsonrpc/json.hpp"
#include "launcher/live_cell.hpp"
#include "launcher/run.hpp"
#include "launcher/standby_pool.hpp"
#include "launcher/watched_descriptors.hpp"
#include "wire/launcher_options.hpp"
#include "wire/packet_socket.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace cmcp::sandbox {

/// The launcher's loop: starts, watches and ends runs as the server asks over the socket.
class launcher {
public:
    launcher(unique_fd server, launcher_options settings);

    /// Until the server closes the socket or SIGTERM comes; every run has ended then.
    void serve();

    // For the standby pools, which name runs and zygotes by keys.
    shared_parts parts();
    std::uint64_t next_key() { return ++last_key_; }
    void watch_zygote(std::uint64_t key, int socket);
    void keep(std::uint64_t key, std::unique_ptr<run> kept);
    void watch_run(std::uint64_t key);             ///< the run has a process now
    void attach(std::uint64_t key, cloned child);  ///< that was ordered for the run or cell; throws
    void lose_clone(std::uint64_t key);            ///< none comes: the run is dropped, the cell gets another process
    run* find(std::uint64_t key);
    void drop(std::uint64_t key);  ///< ends and forgets the run; the server is not told
    void start_cold(start_message start, std::vector<unique_fd> descriptors);
    void tell(const std::string& state) { send(encode_text(message_kind::prepared, state)); }  ///< about the zygote

private:
    /// The meaning of a descriptor of a run or a zygote that is readable.
    enum class key_event : std::uint64_t { ended, said, refused, measured, zygote_said, count };

    /// The descriptors of a run that are watched now, and by and by others or none.
    struct watched {
        int refusals = -1, figures = -1;
    };

    void wait_and_handle();
    int milliseconds_to_next_event() const;
    void handle(std::uint64_t tag);
    template <class Work>
    void look_after(std::uint64_t key, Work work);
    void handle_run(std::uint64_t key, run& of, key_event event);
    void tell_findings(run& of);
    void read_server();
    void take_message(packet message);
    void receive_start(packet message);
    bool must_be_counted(const start_message& start);
    void start_counted();
    void keep_python();
    void tell_off(const std::string& why);
    void add_clones(zygote_options options);
    void start(start_message start, std::vector<unique_fd> descriptors);
    void cancel(std::uint64_t id);
    void tell_cancelled(std::uint64_t id);  ///< of a start that has waited
    void refuse(std::uint64_t id, const std::string& why);
    void start_in_cell(start_message start, std::vector<unique_fd> descriptors);
    void begin_in(live_cell& in, const start_message& start, const std::vector<unique_fd>& descriptors);
    live_cell& cell_for(const run_request& request);
    void find_process(std::uint64_t key, live_cell& of);
    void begin_cell(std::uint64_t key, live_cell& of);
    void handle_cell(std::uint64_t key, key_event event);
    void hear_cell(std::uint64_t key, key_event event);
    void look_at_cells(steady_time now);
    void rest_or_watch(std::uint64_t key, live_cell& of);
    void lose_cell(std::uint64_t key);
    bool is_empty(const cell& in) const;
    std::vector<std::uint64_t> runs_in(const cell& in) const;
    void open_socket(const socket_question& question);
    void hand_on_sockets(live_cell& from);
    void make_room_for(const std::string& principal);
    void end_cell(const end_cell_message& order);
    void tell_cell_is_gone(std::uint64_t question);
    void list_cells(std::uint64_t question);
    void end(std::uint64_t key, run& over);
    void unwatch_run(std::uint64_t key);
    void watch_changing(std::uint64_t key, const run& of);
    void unwatch_changing(std::uint64_t key);
    void look_at_runs();
    std::size_t running() const;
    void enter_place();
    static std::uint64_t key_tag(std::uint64_t key, key_event event);

    void send(std::string message, unique_fd descriptor = {});
    void flush();

    unique_fd server_;
    launcher_options settings_;
    json::object facts_;
    watched_descriptors poll_;
    unique_fd signals_;
    cgroup_tree cgroups_;
    killed_processes measurers_;
    identities ids_;
    std::string obstacle_;  ///< why no run can be started; empty: all is well
    std::optional<call_filters> filters_;
    std::unique_ptr<firejail> firejail_;  ///< or
    std::unique_ptr<view_store> views_;
    workspace_root root_;
    workspace_ledger workspaces_;
    std::deque<waiting_start> uncounted_;  ///< starts whose workspace is counted first

    bool with_time_namespace_;
    std::string no_apparmor_;                                         ///< why runs enter no profile; empty: they do
    std::uint64_t last_key_ = 0;                                      ///< of runs, cells and zygotes
    std::map<std::uint64_t, std::unique_ptr<run>> runs_;              ///< by key
    std::map<std::uint64_t, std::unique_ptr<live_cell>> live_cells_;  ///< by key
    std::vector<std::unique_ptr<standby_pool>> pools_;                ///< the first that has a run for a start takes it
    std::map<std::uint64_t, watched> watched_;                        ///< by key of the run or cell
    std::deque<packet> outbox_;
    bool ignores_ = false;  ///< messages that it does not understand
    bool done_ = false;
};

}  // namespace cmcp::sandbox
