#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/call_activity.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmcp {

enum class log_severity { debug, info, notice, warning, error, critical, alert, emergency };

std::string_view to_string(log_severity level);

/// Throws rpc_error invalid_params that lists the levels.
log_severity severity_from(const json::value& name, std::string_view member);

enum class output_stream { out, err };

/// New text of one stream of a run.
struct output_text {
    output_stream from = output_stream::out;
    std::uint64_t offset = 0;  ///< where it begins: bytes of this stream's text before it
    std::string text;          ///< valid UTF-8
};

/// What a run has printed when its time is over: as its result would show it, and how long the whole text of each
/// stream is, in bytes.
struct printed_so_far {
    std::string out, err;
    std::uint64_t out_size = 0, err_size = 0;
};

/// The messages that a running request may send to its caller before its result, the same for every transport and
/// revision.
class request_io {
public:
    virtual ~request_io() = default;

    /// True when the caller gave a progress token; progress() does nothing otherwise.
    virtual bool wants_progress() const = 0;

    /// notifications/progress; without a message it is a heartbeat. `total` only where it is known. The value sent is
    /// made strictly increasing where `progress` is not. Waits while the caller's stream is full.
    virtual awaitable<> progress(double progress, std::optional<double> total, std::string message) = 0;

    /// The text that a run has printed, in the order of its arrival, as progress: `message` is the text of one stream,
    /// `_meta` names the stream and the offset. At most one notification a stream.
    virtual awaitable<> output(double progress, std::vector<output_text> texts) = 0;

    /// notifications/message, if the caller's log level lets it through.
    virtual awaitable<> log(log_severity level, std::string logger, json::value data) = 0;

    /// The call waits at this position of a queue; 0: its turn has come. Only a job shows it.
    virtual void queued(std::size_t) {}

    /// Any other notification on the request's own stream.
    virtual awaitable<> notify(std::string method, json::object params) = 0;

    /// Asks the client: "elicitation/create", "sampling/createMessage" or "roots/list"; returns its result.
    /// `key` names what is asked within the request. In older revisions this is a request to the client that is
    /// awaited; in 2026-07-28 the answer is looked up in `inputResponses` and, when it is not there yet, input_required
    /// is thrown, which ends this call with an input-required result. Throws rpc_error when the client lacks the
    /// capability or answers with an error.
    virtual awaitable<json::object> ask(std::string key, std::string method, json::object params) = 0;

    /// Whether ask_meanwhile() can ask the client this.
    virtual bool can_ask(std::string_view, const json::object&) const { return false; }

    /// Asks while the call goes on, in any revision, beside what else the call does. In 2026-07-28 the call becomes a
    /// task, or where the client takes none it goes on in the background under the request state that ends its request,
    /// and the client's next attempt answers and waits for the same call. Nothing when no answer came within `limit`;
    /// the request to the client is cancelled then. Only where can_ask(). Throws rpc_error.
    virtual awaitable<std::optional<json::object>> ask_meanwhile(std::string key, std::string method,
                                                                 json::object params, std::chrono::milliseconds limit);

    /// Lets the client poll: ends the stream of this request, which the client resumes (2025-11-25).
    virtual void close_stream_for_polling() = 0;

    /// True when the caller takes a task in place of the result: it declared the extension
    /// io.modelcontextprotocol/tasks for this request, and the tool's definition allows tasks. Stays true when the call
    /// has become one.
    virtual bool takes_task() const { return false; }

    /// Answers the request with a task now and returns the task's id; the call goes on, no longer tied to the caller's
    /// connection, and what it returns is stored for tasks/get. From here on output(), progress() and
    /// log() set the task's status message, ask() waits for tasks/update, notify() sends nothing; tasks/cancel cancels
    /// the call's coroutine. Called again it returns the same id. Only where takes_task(). Throws rpc_error when there
    /// are too many tasks.
    virtual std::string become_task(std::string status_message);

    /// The time of the call's run is over. True: the call is answered with a job, and the run goes on in it. output()
    /// keeps the further text then, which begins behind `so_far`.
    virtual awaitable<bool> outlive(printed_so_far) { co_return false; }

    virtual call_activity& activity() { return activity_; }

    const std::string& request() const { return request_; }  ///< its name in the log; empty: it has none
    void serve(std::string request) { request_ = std::move(request); }

private:
    std::string request_;
    call_activity activity_;
};

}  // namespace cmcp
