#pragma once

#include "async/event.hpp"
#include "jsonrpc/json.hpp"
#include "mcp/message_sink.hpp"

#include <string>
#include <utility>

namespace cmcp {

/// Takes the messages of one tool call made over REST. Messages before the response become server-sent events (`stdout`
/// and `stderr` with {"text", "offset"}, `log`; a heartbeat is a comment), at last the response. Bounded: send() waits
/// while many events have not been taken.
class rest_sink final : public message_sink {
public:
    awaitable<bool> send(outgoing message) override;
    bool takes_values() const override { return true; }
    void request_ended() override
    {
        if (!ended_) close();
    }

    /// Waits for something new at most until `limit`.
    awaitable<bool> wait(event::clock::time_point limit) { return changed_.wait(limit); }

    std::string take_events();
    bool ended() const { return ended_; }
    void close();  ///< the client is gone, or the call ended without a response
    bool closed() const { return closed_; }

    /// The response's result or its error; neither when there was none.
    json::object take_result() { return std::exchange(result_, {}); }
    const json::object& result() const { return result_; }
    const rpc_error* error() const { return error_.get(); }

private:
    void take_response(outgoing message);
    void take_notification(const std::string& method, const json::object& params);

    event changed_;
    std::string events_;
    json::object result_;
    std::shared_ptr<const rpc_error> error_;
    bool ended_ = false;
    bool closed_ = false;
};

}  // namespace cmcp
