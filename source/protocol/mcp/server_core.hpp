#pragma once

#include "async/asio.hpp"
#include "async/blocking_pool.hpp"
#include "async/canceller.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/call_history.hpp"
#include "mcp/call_view.hpp"
#include "mcp/definitions.hpp"
#include "mcp/kept_calls.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/prompt.hpp"
#include "mcp/resource_provider.hpp"
#include "mcp/result_budget.hpp"
#include "mcp/session.hpp"
#include "mcp/tasks/task_view.hpp"
#include "mcp/tool_registry.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

class blocking_pool;
class turns;

/// The names that the server has for itself.
struct server_identity {
    std::string name = "container-mcp";
    std::string title = "Container-MCP";
    std::string version;
    std::string instructions;
};

/// A tool is about to be called: zero, or how long the caller has to wait before it asks again. `counts`: the call is
/// one of the principal's quota.
using call_beginning = std::function<awaitable<std::chrono::milliseconds>(const std::string& principal, bool counts)>;

struct ended_call {
    std::string principal;
    std::chrono::steady_clock::time_point began;
    bool succeeded;
};

/// A call of a tool that changes something is about to be answered. False: it cannot be told as done, because what it
/// has changed may be lost.
using call_end = std::function<awaitable<bool>(const ended_call& call)>;

struct core_limits {
    std::size_t requests_in_flight = 4096;
    std::size_t requests_per_session = 64;
    task_limits tasks{};
    result_limits results{};
    result_format format = result_format::automatic;
    call_beginning begin_call{};  ///< null: any number of calls
    call_end end_call{};
    std::weak_ptr<blocking_pool> pool{};  ///< for work over long messages; empty: the io thread does it
    /// Servers with the same one continue each other's calls that ask the client; empty: this server its own alone.
    std::string shared_secret{};
};

enum class era_of_peer {
    session,    ///< the older revisions
    stateless,  ///< 2026-07-28
    both        ///< each message says, as on standard input
};

/// Where a message comes from, as its transport knows it.
struct peer {
    era_of_peer era = era_of_peer::stateless;
    caller who{};                           ///< of a stateless request; a session has its own
    std::shared_ptr<session> client{};      ///< in which a request's id is known, for its cancellation; null: nowhere
    std::shared_ptr<message_sink> reply{};  ///< of a request
    std::string payer{};                    ///< whom the work is charged to; empty: the principal
    std::optional<revision> spoken{};  ///< by the client, where another server of the cluster has passed the message on
    bool passed_on = false;            ///< so: it is answered here, whatever it names
    bool is_program = false;  ///< asks by REST: has called tool_registry::validate(), and wants the result object
};

/// Whom the work for a message is charged to.
const std::string& payer_of(const peer& from);

/// Whether a message claims the stateless era: `_meta` holds io.modelcontextprotocol/protocolVersion.
bool claims_stateless(const jsonrpc::message& incoming);

class other_nodes;

/// The protocol: takes one message with its peer, answers into a sink. Knows no transport.
class server_core {
public:
    /// `jobs` keeps the tasks.
    server_core(asio::any_io_executor executor, server_identity identity, core_limits limits,
                std::shared_ptr<job_register> jobs);
    ~server_core();

    tool_registry& tools();
    const std::weak_ptr<blocking_pool>& pool() const;               ///< of the limits
    void instruct(std::function<std::string(const caller&)> text);  ///< replaces the identity's instructions
    void add_resources(std::unique_ptr<resource_provider> provider);
    void work_with(other_nodes& nodes);                        ///< which outlive this
    void keep_results(std::unique_ptr<result_keeper> keeper);  ///< what they have no room for
    void keep_calls(std::unique_ptr<kept_calls> sandboxes);    ///< those with an Idempotency-Key
    void add_prompt(std::unique_ptr<prompt> item);
    void prompts_changed();  ///< tells who asked to be told

    /// A list of another server of the cluster has changed, as other_nodes::tell_list_changed() says: tells the clients
    /// of this one.
    void list_changed_elsewhere(const std::string& list);

    /// Takes a message. A request runs by itself from here on: its notifications, its requests to the client and at
    /// last its response go into `from.reply`, which is told when the request is over. A cancelled request sends no
    /// response, as the specification says. What is returned cancels the request; it is gone when the request has
    /// ended, and at once for other messages, which are handled before this returns. `initialize` fills `session->who`
    /// and sets `initialized`; before it only initialize and ping are answered.
    std::weak_ptr<canceller> start(jsonrpc::message incoming, peer from);

    turns& batches();  ///< by who pays for them

    /// Legacy sessions that hear of changes (list_changed, resources/updated); weak, forgotten when they are gone.
    void watch(std::weak_ptr<session> who);

    /// The part of an initialized session that another process needs to go on with it: its revision, client, log level
    /// and subscriptions.
    static json::object state_of(const session& who);

    /// Goes on with a session whose `who` names its principal, and watches it. Throws rpc_error where `state` is none
    /// of state_of().
    void take_up(const std::shared_ptr<session>& who, const json::object& state);

    /// `ended` is called with each session that its transport has dropped; not at the end of the server.
    void on_session_end(std::function<void(const caller&)> ended);
    void session_ended(const caller& who);

    /// While `overload` does not say 0, new requests but ping of those who have used the loop most are refused with
    /// rpc_code::server_busy: half of the largest share or more where it says 1, a quarter where it says 2, and so on.
    void refuse_while(std::function<unsigned()> overload);

    /// From now on every new request is answered with an error that says the server is stopping. Ends the jobs, tasks
    /// among them.
    void refuse_new_requests();
    std::size_t requests_in_flight() const;
    void cancel_all();  ///< every request of both eras

    std::vector<call_view> calls() const;  ///< tool calls that run
    const call_history& history() const;
    call_history& history();

    /// Records the calls that have run for so long and are not recorded yet; to be called from time to time.
    void record_running_calls(std::chrono::milliseconds longer_than);

    /// Ends a tool call of calls(), whose caller is answered with `why`. False: there is none.
    bool end_call(const std::string& id, const std::string& why);

    /// After refuse_new_requests(): waits until every request has been answered, at most `limit`; returns true when
    /// none is left.
    awaitable<bool> requests_ended(std::chrono::milliseconds limit);

    /// After refuse_new_requests(): waits until no job runs, at most `limit`; returns true when none is left. To be
    /// awaited before what the tools use goes away.
    awaitable<bool> tasks_ended(std::chrono::milliseconds limit);

private:
    struct implementation;
    std::shared_ptr<implementation> self_;  ///< shared with the requests that run
};

}  // namespace cmcp
