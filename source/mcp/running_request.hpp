#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/rpc_error.hpp"
#include "mcp/input_required.hpp"
#include "metrics/trace_context.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A request between its arrival and its end. Whoever wants it to end calls cancel() or emits `signal`.
struct running_request {
    running_request();
    running_request(const running_request&) = delete;
    running_request& operator=(const running_request&) = delete;

    void cancel();

    std::string log_id;                     ///< unique in this server
    std::string method;
    std::string target;                     ///< the tool, prompt or resource that it names; empty: none
    metrics::trace_parent trace;            ///< what `_meta.traceparent` says
    bool cancelled = false;
    asio::cancellation_signal signal;       ///< for those who know only a signal (session::in_flight)
    asio::cancellation_signal child;        ///< ends the coroutine that does the work
};

/// How the work ended. All empty when it was cancelled.
struct outcome {
    std::optional<json::object> result;
    std::optional<rpc_error> error;
    std::optional<input_required> asked;
};

/// Runs `work` as a child that request->cancel() and the cancellation of the awaiting coroutine end; returns when it has
/// ended. Exceptions become errors of the outcome, unexpected ones are logged.
awaitable<outcome> run_request_to_end(std::shared_ptr<running_request> request, awaitable<json::object> work);

}  // namespace cmcp
