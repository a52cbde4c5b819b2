#pragma once

#include "async/canceller.hpp"
#include "config/principal_limits.hpp"
#include "mcp/session.hpp"
#include "text/handles.hpp"
#include "transport/event_log.hpp"
#include "transport/event_stream.hpp"
#include "transport/session_keeper.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cmcp {

class session_store;
struct http_settings;

/// A session of the older revisions as the HTTP transports keep it.
struct http_session final : canceller, std::enable_shared_from_this<http_session> {
    explicit http_session(session_store& kept_in) : store(kept_in) {}

    void cancel() override;  ///< drops it

    session_store& store;
    std::string id;
    std::string holder;  ///< who opened it, for the limit of sessions of one caller
    bool sse = false;    ///< HTTP+SSE (2024-11-05): lives as long as its stream
    std::shared_ptr<session> state;
    std::shared_ptr<event_log> log;  ///< null for HTTP+SSE
    std::shared_ptr<memory_budget::part> memory;
    std::shared_ptr<event_stream> general;             ///< the GET stream
    std::vector<std::weak_ptr<event_stream>> streams;  ///< of POSTs that still run
    std::uint64_t next_stream = 1;
    std::string address;         ///< of the client that opened it
    std::uint64_t requests = 1;  ///< HTTP requests of it, that which opened it included
    std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
    std::chrono::steady_clock::time_point last_used;
    std::chrono::steady_clock::time_point use_kept{};  ///< when its use was last put on record
    std::uint64_t starts = 0;                          ///< how often a process of the server went on with it
    bool returned = false;                             ///< it was just taken up, for a request that says the rest
    std::list<http_session*>::iterator place;          ///< among all
    std::list<http_session*>::iterator own_place;      ///< among those of the holder

    bool busy() const { return sse || !state->in_flight.empty() || general->attached(); }

    /// A stream for the requests of one POST.
    std::shared_ptr<event_stream> open_stream(asio::any_io_executor executor);

    void forget_ended_streams();  ///< their memory would stay until the next request

    /// The stream that goes on after `last`, or that is over but has something that came after it; null: nothing is
    /// known of such a stream, or all of it was sent before.
    std::shared_ptr<event_stream> find_stream(asio::any_io_executor executor, const event_id& last);
};

/// All sessions, found by id, longest unused first in line to be dropped.
class session_store {
public:
    using clock = std::chrono::steady_clock;

    /// `of_principal`: how many sessions a caller with a name may have; null: as many as an address. `handles`
    /// makes the ids of sessions, `ses_<node>_…`. `file` keeps those of streamable HTTP for the next process; empty:
    /// none.
    session_store(asio::any_io_executor executor, const http_settings& config,
                  std::shared_ptr<memory_budget> budget = std::make_shared<memory_budget>(),
                  limit_of_principal of_principal = {}, handle_maker handles = handle_maker({}),
                  const std::filesystem::path& file = {});
    ~session_store();

    enum class refusal { none, too_many, too_many_from_address, too_many_of_caller };

    /// Null with the reason in `why` when a limit is reached and no session of the same caller was idle for long. A
    /// principal's sessions count together; those of the default caller count by address.
    std::shared_ptr<http_session> create(std::string principal, std::string address, bool sse, refusal& why);

    /// Only for the principal that made it; counts as use. One of a former process is taken up again.
    std::shared_ptr<http_session> find(std::string_view id, std::string_view principal);

    /// Cancels its requests and ends its stream.
    void drop(std::shared_ptr<http_session> gone);

    /// Called with each session that is dropped.
    void on_drop(std::function<void(const caller&)> dropped) { dropped_ = std::move(dropped); }

    /// Called with each session of a former process and its state (server_core::take_up()); throws where that is bad.
    void on_return(std::function<void(const std::shared_ptr<session>&, const json::object& state)> take_up)
    {
        take_up_ = std::move(take_up);
    }

    /// Drops what has been idle for too long and forgets old events; called from time to time. True: there is more to
    /// do, in another step of the loop.
    bool sweep(clock::time_point now);

    /// All of them, longest unused first.
    std::vector<std::shared_ptr<http_session>> all() const;

    awaitable<> end_streams();  ///< at shutdown, some in each step of the loop

    /// At shutdown, after the last request: waits until the sessions are in their file, at most `limit`.
    awaitable<> keep_all(std::chrono::milliseconds limit);

    std::size_t size() const { return by_id_.size(); }
    const std::shared_ptr<memory_budget>& budget() const { return budget_; }

private:
    using by_use = std::list<http_session*>;  // longest unused first

    const by_use& sessions_of(const std::string& holder) const;
    std::size_t most_sessions(std::string_view principal) const;
    bool make_room(const by_use& among, clock::time_point now);
    void touch(http_session& used);
    std::shared_ptr<http_session> add(std::string id, std::string principal, std::string address, bool sse);

    // Sessions of former processes that nobody has come back for.
    void read_absent();
    void forget_absent(const std::string& digest);
    void forget_expired_absent();
    void make_room_among_absent(const std::string& holder, std::size_t most);
    std::shared_ptr<http_session> take_up(std::string_view id, std::string_view principal);

    void keep(const http_session& changed);
    bool keep_uses(clock::time_point now, clock::duration older_than, std::size_t most = 500);  // false: there are more

    asio::any_io_executor executor_;
    const http_settings& config_;
    std::shared_ptr<memory_budget> budget_;
    limit_of_principal of_principal_;
    handle_maker handles_;
    std::function<void(const caller&)> dropped_;
    std::unordered_map<std::string_view, std::shared_ptr<http_session>> by_id_;  // the key is the session's own id
    std::unordered_map<std::string, by_use> by_holder_;
    by_use by_use_;
    session_keeper keeper_;
    std::function<void(const std::shared_ptr<session>&, const json::object&)> take_up_;
    std::unordered_map<std::string, session_record> absent_;                     // by digest
    std::deque<std::string> absent_by_use_;                                      // longest unused first; some are gone
    std::unordered_map<std::string, std::deque<std::string>> absent_of_holder_;  // the same
};

}  // namespace cmcp
