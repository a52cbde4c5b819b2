#pragma once

#include "async/asio.hpp"
#include "async/task_group.hpp"
#include "jsonrpc/message.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/prompt.hpp"
#include "mcp/resource_provider.hpp"
#include "mcp/session.hpp"
#include "mcp/task_view.hpp"
#include "mcp/tool_registry.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cmcp {

/// What the server says of itself.
struct server_identity {
    std::string name = "container-mcp";
    std::string title = "Container-MCP";
    std::string version;
    std::string instructions;
};

struct core_limits {
    std::size_t requests_in_flight = 4096;
    std::size_t requests_per_session = 64;
    task_limits tasks;
};

/// The protocol: takes one message with its caller, answers into a sink. Knows no transport.
class server_core {
public:
    /// `jobs` keeps the tasks.
    server_core(asio::any_io_executor executor, server_identity identity, core_limits limits,
                std::shared_ptr<job_register> jobs);
    ~server_core();

    tool_registry& tools();
    void instruct(std::string text);  ///< replaces the identity's instructions
    void add_resources(std::unique_ptr<resource_provider> provider);
    void add_prompt(std::unique_ptr<prompt> item);
    void prompts_changed();  ///< tells who asked to be told

    /// Revisions up to 2025-11-25. A request runs to its end: its notifications, questions and at last its response go
    /// into `reply`. A notification or a response is handled at once (`reply` may then be null). Never throws but
    /// operation_aborted; a cancelled request sends no response, as the specification says. `initialize` fills
    /// `who->who` and sets `initialized`; before it only initialize and ping are answered.
    /// The request is registered in `who->in_flight`, so that notifications/cancelled and session::cancel_all end it.
    /// `ends`, where it is given, is what the awaiting coroutine is bound to: the request needs none of its own then.
    awaitable<> handle(std::shared_ptr<session> who, jsonrpc::message incoming, std::shared_ptr<message_sink> reply,
                       std::shared_ptr<canceller> ends = nullptr);

    /// 2026-07-28: `_meta` is read from the params; the same contract. Cancel the coroutine to cancel the request (the
    /// client closed the stream).
    awaitable<> handle_modern(std::string principal, jsonrpc::request incoming, std::shared_ptr<message_sink> reply);

    /// The same without waiting: in a coroutine of `requests`, where the request needs one. `reply` is held until its
    /// end. `ends` is to be cancelled when nobody waits for the answer any more, and at the latest then.
    void start_modern(task_group& requests, std::string principal, jsonrpc::request incoming,
                      std::shared_ptr<message_sink> reply, std::shared_ptr<canceller> ends);

    /// Whether the body claims the stateless era: `_meta` holds io.modelcontextprotocol/protocolVersion.
    static bool claims_modern(const jsonrpc::message& incoming);

    /// 2026-07-28 over HTTP: MCP-Protocol-Version, Mcp-Method, Mcp-Name and Mcp-Param-* agree with the body. `header`
    /// gives a header's value or nothing. Returns the error to send (HTTP 400), or nothing.
    std::optional<rpc_error> check_headers(
        const jsonrpc::request& incoming,
        const std::function<std::optional<std::string_view>(std::string_view)>& header) const;

    /// Legacy sessions that are told of changes (list_changed, resources/updated); weak, forgotten when they are gone.
    void watch(std::weak_ptr<session> who);

    /// While `overloaded` says true, new requests but ping are refused with rpc_code::server_busy.
    void refuse_while(std::function<bool()> overloaded);

    /// From now on every new request is answered with an error that says the server is stopping. Ends the jobs, tasks
    /// among them.
    void refuse_new_requests();
    std::size_t requests_in_flight() const;
    void cancel_all();  ///< every request of both eras

    /// After refuse_new_requests(): waits until no job runs, at most `limit`; returns true when none is left. To be
    /// awaited before what the tools use goes away.
    awaitable<bool> tasks_ended(std::chrono::milliseconds limit);

private:
    struct implementation;
    std::shared_ptr<implementation> self_;  ///< shared with the requests that run
};

}  // namespace cmcp
