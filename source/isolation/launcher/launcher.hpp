#pragma once

#include "jsonrpc/json.hpp"
#include "launcher/live_cell.hpp"
#include "launcher/loaded_interpreter.hpp"
#include "launcher/ready_cells.hpp"
#include "launcher/run.hpp"
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

    // For loaded interpreters and ready cells, which name cells and zygotes by keys.
    shared_parts parts();
    std::uint64_t next_key() { return ++last_key_; }
    void watch_zygote(std::uint64_t key, int socket);
    void attach(std::uint64_t key, cloned child);  ///< that was ordered for the cell; throws
    void lose_clone(std::uint64_t key);            ///< none comes: the cell gets another process, or goes
    live_cell* find_cell(std::uint64_t key);
    /// A cell that is nobody's yet, with a program that stands by for such a start. 0: `by` makes no more clones.
    /// Throws step_failed.
    std::uint64_t make_ready_cell(const start_message& start, loaded_interpreter* by);
    void tell(const std::string& state) { send(encode_text(message_kind::prepared, state)); }  ///< about the zygote

private:
    /// The meaning of a descriptor of a run, a cell or a zygote that is readable.
    enum class key_event : std::uint64_t { ended, said, refused, measured, zygote_said, count };

    /// The descriptors of a run or a cell that are watched now, and by and by others or none.
    struct watched {
        int said = -1, refusals = -1, figures = -1;
    };

    void wait_and_handle();
    int milliseconds_to_next_event() const;
    void handle(std::uint64_t tag);
    template <class Work>
    void look_after(std::uint64_t key, Work work);
    void lose_run(std::uint64_t key, const char* why);
    void handle_run(run& of, key_event event);
    void keep_left(std::uint64_t key, left_program left);
    void hear_left(std::uint64_t key);
    void look_at_left(steady_time now);
    void drop_left(std::uint64_t key);
    void drop_left_in(const cell& in);
    void tell_findings(cell& of);
    void read_server();
    void take_message(packet message);
    void receive_start(packet message);
    bool must_wait(const start_message& start);
    bool must_be_counted(const start_message& start);
    bool must_be_prepared(const start_message& start);
    void machines_are_prepared();
    void start_those_that_wait();
    void keep_python();
    void tell_off(const std::string& why);
    void add_clones(zygote_options options);
    void start(start_message start, std::vector<unique_fd> descriptors);
    loaded_interpreter* interpreter_for(const run_request& request);
    void start_browser(start_message start, std::vector<unique_fd> descriptors);
    void cancel(std::uint64_t id);
    void tell_cancelled(std::uint64_t id);  ///< of a start that has waited
    void refuse(std::uint64_t id, const std::string& why, bool no_room = false);
    live_cell& cell_of_its_own(const start_message& start);
    live_cell& lasting_cell_for(const start_message& start);
    std::uint64_t make_cell(const start_message& start, loaded_interpreter* by, bool ready);
    std::unique_ptr<live_cell> drop_cell(std::uint64_t key);
    bool becomes_loaded(const live_cell& in, const run_request& request) const;
    loaded_interpreter* interpreter_of_cells(const run_request& request) const;
    bool has_nothing(const cell& in) const;  ///< that a run has left there, neither processes nor files
    bool gives_way(const live_cell& in, const run_request& request) const;
    void begin_in(live_cell& in, waiting_start start);
    void begin_waiting(live_cell& in);
    void hear_room(std::uint64_t tag);
    void watch_room();
    void begin_cell(std::uint64_t key, live_cell& of);
    void launch_without_clone(std::uint64_t key);
    void lose_starts(live_cell& of, const std::string& why);
    void handle_cell(std::uint64_t key, key_event event);
    void hear_cell(std::uint64_t key, key_event event);
    void hear_programs(std::uint64_t key, live_cell& in);
    void look_at_cells(steady_time now);
    void rest_or_watch(std::uint64_t key, live_cell& of);
    void lose_cell(std::uint64_t key);
    bool is_empty(const cell& in) const;
    std::vector<std::uint64_t> runs_in(const cell& in) const;
    std::optional<std::uint64_t> run_in(const live_cell& of, std::uint32_t number) const;
    void open_socket(const socket_request& request);
    void hand_on_sockets(live_cell& from);
    void hand_on_doors(live_cell& from);
    void tell_end_of_doors(const live_cell& of);
    void make_room_for(const cell_name& wanted);
    void end_cell(const end_cell_message& order);
    void hold_cells(bool on);
    bool is_asked(std::uint64_t request) const;
    void report_cell_gone(std::uint64_t request);
    void list_cells(std::uint64_t request);
    run* find(std::uint64_t key);
    void drop(std::uint64_t key);  ///< forgets the run without a message to the server
    void report(std::uint64_t key);
    void watch_changing(std::uint64_t key, const run& of);
    void unwatch_changing(std::uint64_t key);
    void look_at_runs();
    void enter_namespaces();
    static std::uint64_t key_tag(std::uint64_t key, key_event event);

    void send(std::string message, std::vector<unique_fd> descriptors = {});
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
    std::deque<waiting_start> early_;  ///< starts whose workspace is counted first, or what machines show prepared
    int preparing_ = -1;               ///< readable once it is

    bool with_time_namespace_;
    std::string no_apparmor_;                                         ///< why runs enter no profile; empty: they do
    std::uint64_t last_key_ = 0;                                      ///< of runs, cells and zygotes
    std::map<std::uint64_t, std::unique_ptr<run>> runs_;              ///< by key
    std::map<std::uint64_t, left_program> left_;                      ///< by the keys of their runs, which are reported
    std::map<std::uint64_t, std::unique_ptr<live_cell>> live_cells_;  ///< by key
    steady_time latest_start_{};                                      ///< of a run, in any cell
    std::vector<std::unique_ptr<loaded_interpreter>> interpreters_;   ///< the first that suits a start makes its cell
    std::optional<ready_cells> ready_;                                ///< none under Firejail
    unique_fd held_library_;
    std::map<std::uint64_t, watched> watched_;  ///< by key of the run or cell
    std::deque<packet> outbox_;
    bool ignores_ = false;  ///< messages that it does not understand
    bool done_ = false;
};

template <class Work>
void launcher::look_after(std::uint64_t key, Work work)
try {
    if (run* const of = find(key)) work(*of);
} catch (const std::exception& failure) {
    lose_run(key, failure.what());
}

}  // namespace cmcp::sandbox
