#pragma once

#include "async/asio.hpp"
#include "async/canceller.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "mcp/call_facts.hpp"
#include "mcp/caller.hpp"
#include "mcp/input_required.hpp"
#include "mcp/message_sink.hpp"
#include "mcp/request_life.hpp"
#include "mcp/request_register.hpp"
#include "mcp/tool_context.hpp"
#include "metrics/trace_context.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// A request between its arrival and its end. cancel() is the one way to end it early: for the client's notification,
/// its disconnect, the end of its session, a task's cancellation and the end of the server.
class running_request : public canceller, public std::enable_shared_from_this<running_request> {
public:
    running_request() = default;
    running_request(jsonrpc::request incoming, const caller* asks);
    ~running_request() override;

    void cancel() override;
    bool cancelled() const { return life.now() == request_life::state::cancelled; }

    /// Ends what the request does. In contrast to cancel() its caller is answered, with `why`, a sentence.
    void end_early(const std::string& why);
    const std::string& ended_because() const { return ended_because_; }  ///< empty: end_early() was not called

    const json::object* arguments() const;  ///< of a tool call, as they were sent; null: none
    request_io& io() { return context->io; }

    std::shared_ptr<void> keeps;          ///< what must live as long as the request
    std::shared_ptr<message_sink> reply;  ///< null: nobody is answered
    request_life life;
    request_register::registration registration;
    json::value id;
    jsonrpc::request_ids ids;
    std::string method;
    json::object params;   ///< in the memory of the message
    bool is_long = false;  ///< see jsonrpc::request
    std::string digest;    ///< of the arguments, where it was made off the io thread; empty: not made yet
    std::function<void(json::object)> discard;  ///< takes params that are long, where they are let go
    bool is_program = false;                    ///< see peer
    bool passed_on = false;                     ///< see peer
    std::optional<tool_context> context;        ///< for tools and prompts; empty before the method runs
    std::vector<std::int64_t> abandoned;        ///< ids of requests to the client that it need not answer any more
    std::string target;                         ///< the tool, prompt or resource that it names; empty: none
    const caller* who = nullptr;                ///< null where it is not stored
    call_facts facts;                           ///< of a tool call
    bool may_become_task = false;  ///< the work of a call that another request waits for, as long as it is no task
    std::string task;              ///< the id of the task that the call has become; empty: none
    metrics::trace_parent trace;   ///< what `_meta.traceparent` says
    std::weak_ptr<running_request> worker;  ///< does the work, where that may become a task; empty: this does
    std::chrono::steady_clock::time_point began{};
    bool recorded_as_running = false;  ///< in the audit

private:
    std::string ended_because_;
};

/// How the work ended. All empty when it was cancelled. Small, because the frames of coroutines hold several.
struct outcome {
    std::optional<json::object> result;
    std::unique_ptr<rpc_error> error;
};

/// The response of a request: its result or its error.
outgoing answer_of(json::value id, outcome done);
outgoing answer_of(json::value id, const rpc_error& error);

/// Runs `work` in a coroutine that request->cancel() ends, and returns when it has ended; the awaiting coroutine can go
/// on then. Exceptions become errors of the outcome, unexpected ones are logged.
awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work);

}  // namespace cmcp
