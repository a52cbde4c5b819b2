#pragma once

#include "load/http_answer.hpp"
#include "load/load_options.hpp"
#include "load/message_skim.hpp"
#include "load/recorder.hpp"
#include "load/server_list.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace cmcp::load {

enum class role { calling, idle, slow };

class client_session;

/// The load test as its sessions see it: shared options and figures, and the calls that report a session's progress.
struct session_host {
    virtual ~session_host() = default;
    virtual void opened(client_session& which) = 0;
    virtual void failed_to_open(client_session& which, const failure& why) = 0;
    /// The answer to its call, before it is free. The return says why it will not do; without a kind it does.
    virtual failure answered(client_session&, std::string_view) { return {}; }
    virtual std::uint64_t wanted_output(const client_session&) const { return 0; }  ///< bytes; 0: any number
    virtual void free(client_session& which) = 0;  ///< its call is over and counted: it may be given the next
    virtual void lost(client_session& which, const failure& why) = 0;  ///< not usable until it was opened again

    asio::any_io_executor executor;
    const load_options& options;
    server_list& servers;
    recorder& record;
    traffic& counted;

protected:
    session_host(asio::any_io_executor ex, const load_options& options, server_list& all, recorder& into,
                 traffic& bytes)
        : executor(std::move(ex)), options(options), servers(all), record(into), counted(bytes)
    {
    }
};

/// A simulated MCP client, with at most one call at a time.
class client_session {
public:
    /// `home`: the server that it uses as long as that is there.
    client_session(session_host& host, role kind, std::size_t home)
        : host_(host), role_(kind), home_(home), server_number_(home)
    {
    }
    client_session(const client_session&) = delete;
    client_session& operator=(const client_session&) = delete;
    virtual ~client_session() = default;

    void open();
    void leave();  ///< closes a session without a call; its host is not notified
    void go_to(std::size_t server_number) { server_number_ = server_number; }  ///< the server of the next open()
    void call(std::size_t kind, clock::time_point due);
    void call(std::size_t kind, const operation& what, clock::time_point due);  ///< with arguments of its own
    bool succeeded() const { return error_.kind.empty(); }                      ///< the call before
    void check_time(clock::time_point now);  ///< ends what took longer than the timeout
    void give_up(const std::string& kind);   ///< counts the call that still runs as failed

    role kind() const { return role_; }
    const std::string& revision() const { return revision_; }  ///< that the server agreed to
    std::size_t home() const { return home_; }
    std::size_t server_number() const { return server_number_; }
    bool ready() const { return state_ == state::ready; }
    bool busy() const { return ready() && kind_ != none; }

protected:
    virtual void connect() = 0;  ///< ends in opened() or broken()
    virtual void transmit(std::string text, const operation& what) = 0;
    virtual void shut() = 0;  ///< closes all connections

    /// Transports report through these functions.
    void opened();
    void broken(const failure& why);       ///< the session can go on only after open()
    bool agreed(std::string_view answer);  ///< to initialize; when it is no good, the session is broken
    void message(std::string_view text);
    void exchange_begun() { exchange_open_ = true; }
    void exchange_ended();                    ///< the HTTP answer is over: the connection is free again
    void refused(const http_answer& answer);  ///< the call failed, the session can go on

    void served_by(std::string_view name);  ///< in an answer's header; may be empty
    std::int64_t next_id() { return ++last_id_; }
    route& way() { return host_.servers.way(server_number_); }
    const server_address& address() { return way().to(); }
    std::size_t reading_rate() const { return role_ == role::slow ? host_.options.slow_rate : 0; }
    bool opening() const { return state_ == state::opening; }
    std::string_view offered_revision() const;

    session_host& host_;

private:
    enum class state { closed, opening, ready };
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    void progressed(const progress_skim& piece, clock::time_point now);
    failure judged(const message_skim& answer, std::string_view text);
    std::string fault_of_output() const;
    void settle_if_over();
    void count(const failure& error);
    call_figures& figures();

    role role_;
    std::size_t home_;
    std::size_t server_number_;
    state state_ = state::closed;
    std::size_t kind_ = none;  // of the call that runs
    std::int64_t last_id_ = 0;
    std::int64_t call_id_ = 0;
    clock::time_point began_;  // opening, or when the call was sent
    clock::time_point due_;
    clock::time_point last_message_;
    std::string revision_;
    std::string served_by_;             // of the call that runs
    std::uint64_t output_end_[2] = {};  // of the call that runs: stdout, stderr
    std::uint64_t output_bytes_ = 0;
    bool output_missing_ = false, output_again_ = false;
    failure error_;
    bool answered_ = false;
    bool progressed_ = false;
    bool exchange_open_ = false;
};

std::unique_ptr<client_session> make_session(session_host& host, role kind, std::size_t home);

}  // namespace cmcp::load
