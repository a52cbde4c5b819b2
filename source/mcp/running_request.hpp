#pragma once

#include "async/asio.hpp"
#include "async/canceller.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/message.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "mcp/call_facts.hpp"
#include "mcp/caller.hpp"
#include "mcp/input_required.hpp"
#include "metrics/trace_context.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cmcp {

/// A request between its arrival and its end.
struct running_request {
    /// `of_awaiting`: ends the coroutine that awaits run_request_to_end(); null: that one is not to be ended.
    explicit running_request(std::shared_ptr<canceller> of_awaiting = nullptr)
        : in_place(of_awaiting != nullptr), ends(in_place ? std::move(of_awaiting) : std::make_shared<canceller>())
    {
    }
    running_request(const running_request&) = delete;
    running_request& operator=(const running_request&) = delete;

    void cancel() const { ends->cancel(); }
    bool cancelled() const { return ends->cancelled(); }

    const bool in_place;  ///< the work needs no coroutine that can be ended by itself
    const std::shared_ptr<canceller> ends;
    jsonrpc::request_ids ids;
    std::string method;
    std::string target;                 ///< the tool, prompt or resource that it names; empty: none
    std::shared_ptr<const caller> who;  ///< null where it is not kept
    call_facts facts;                   ///< of a tool call
    bool may_become_task = false;       ///< the work of a call that another request waits for, as long as it is no task
    std::string task;                   ///< the id of the task that the call has become; empty: none
    metrics::trace_parent trace;        ///< what `_meta.traceparent` says
    std::vector<std::int64_t> abandoned;  ///< ids of questions to the client that it need not answer any more
};

/// How the work ended. All empty when it was cancelled. Small, because the frames of coroutines hold several.
struct outcome {
    std::optional<json::object> result;
    std::unique_ptr<rpc_error> error;
    bool asked = false;  ///< for input
};

/// Runs `work`, which request->cancel() and the cancellation of the awaiting coroutine end; returns when it has ended,
/// and the awaiting coroutine can go on then. Exceptions become errors of the outcome, unexpected ones are logged.
awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work);

/// Counts and logs the end of a request that is not run by run_request_to_end().
void record_end(const running_request& request, const outcome& done, std::chrono::steady_clock::time_point began);

/// Logs a tool call that was refused before it became a running request.
void record_refusal(const jsonrpc::request_ids& ids, std::string_view method, const json::object& params,
                    std::shared_ptr<const caller> who, const rpc_error& why);

}  // namespace cmcp
