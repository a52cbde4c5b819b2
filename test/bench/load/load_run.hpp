#pragma once

#include "load/client_session.hpp"
#include "load/health_probe.hpp"
#include "load/process_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

namespace cmcp::load {

/// A second of a load test. Times are medians, and a percentile, of the calls that succeeded in it.
struct second_figures {
    double seconds = 0;  ///< that it lasted
    std::uint64_t succeeded = 0, failed = 0;
    std::int64_t p50 = 0, p99 = 0;              ///< nanoseconds
    std::map<std::size_t, std::int64_t> calls;  ///< p50 by number in the mix
};

/// The figures of a finished load test.
struct load_result {
    explicit load_result(std::size_t kinds, std::size_t servers = 1) : record(kinds, servers) {}

    recorder record;
    std::string revision;  ///< of the protocol, as the server answered; empty: no session was opened
    double opening_seconds = 0;
    double seconds = 0;         ///< of load that was measured
    std::uint64_t in_time = 0;  ///< calls that succeeded within these seconds
    std::size_t opened = 0;     ///< sessions
    std::size_t idle_open = 0;  ///< idle sessions that still held their stream at the end
    call_figures iterations;    ///< of the scenario
    std::vector<second_figures> series;
    bool interrupted = false;
    std::optional<process_figures> at_start, when_open, before_load, at_end;  ///< of the server, with --pid
};

/// Opens the sessions, then calls at the given rate or as fast as answers come, until the time or the count is over.
class load_run : public session_host {
public:
    load_run(asio::io_context& io, const load_options& options, server_list& all, load_result& into);

    /// `tick`: called every second.
    void start(std::function<void(const load_run&)> tick);
    void interrupt();

    const load_result& result() const { return result_; }
    bool loading() const { return phase_ == phase::load; }
    std::size_t waiting() const { return backlog_.size(); }
    double phase_seconds() const;
    double recent_seconds() const;  ///< since the tick before
    std::string_view phase_name() const;

private:
    enum class phase { opening, warm_up, load, drain, over };
    struct due_call {
        std::size_t kind;
        clock::time_point due;
    };
    struct way_of_session {
        scenario_way way;
        clock::time_point due{};  // of the iteration
        bool on_its_way = false;
        bool called = false;  // its step is being made
    };

    void opened(client_session& which) override;
    failure answered(client_session& which, std::string_view text) override;
    std::uint64_t wanted_output(const client_session& which) const override;
    void failed_to_open(client_session& which, const failure& why) override;
    void free(client_session& which) override;
    void lost(client_session& which, const failure& why) override;

    void make_sessions(std::size_t count, role kind);
    void open_more();
    void opening_ended();
    void begin_load();
    void begin_measuring();
    void stop_issuing();
    void count_to_the_last();
    void finish();
    void after(asio::steady_timer& timer, std::chrono::nanoseconds time, void (load_run::*then)());
    bool issuing() const { return phase_ == phase::warm_up || phase_ == phase::load; }
    bool calls_left() const { return options.count == 0 || issued_ < options.count; }
    void give(client_session& which);
    void begin(client_session& which, std::size_t kind, clock::time_point due);
    json::object variables_of_next();
    bool go_on(client_session& which);
    void end_iteration(way_of_session& of);
    void arrivals();
    void hand_out();
    clock::duration interval();
    void move_on(client_session& which);
    bool goes_home(client_session& which);
    void look_after();
    void reopen_some();
    void every_second();
    void note_second();
    std::optional<process_figures> look() const;

    load_result& result_;
    mix mix_;
    std::vector<std::unique_ptr<client_session>> sessions_;
    std::size_t next_to_open_ = 0;
    std::size_t opening_ = 0;
    std::size_t opening_left_ = 0;
    std::deque<client_session*> free_;  // open loop: have nothing to do
    std::deque<due_call> backlog_;      // open loop: due, but every session is busy
    std::deque<client_session*> to_reopen_;
    clock::time_point began_;
    clock::time_point last_tick_;
    clock::time_point last_answer_;
    clock::time_point next_arrival_;
    std::uint64_t issued_ = 0;
    std::uint64_t iteration_ = 0;
    std::map<const client_session*, way_of_session> ways_;  // of a scenario
    phase phase_ = phase::opening;
    asio::steady_timer phase_timer_, arrival_timer_, care_timer_, tick_timer_;
    std::function<void(const load_run&)> tick_;
    std::vector<std::unique_ptr<health_probe>> health_;  // of each server
    std::mt19937_64 random_{20260728};
};

}  // namespace cmcp::load
