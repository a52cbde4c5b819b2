#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"
#include "jsonrpc/rpc_error.hpp"

#include <memory>
#include <string>

namespace cmcp {

/// A JSON-RPC message on its way to a peer: a value, which the transport that needs text serializes.
struct outgoing {
    enum class kind { response, notification, request };

    kind what = kind::notification;
    json::value id{};                          ///< of a request; of the request that a response answers
    std::string method{};                      ///< of a request or a notification
    json::object params{};                     ///< the same
    json::object result{};                     ///< of a response
    std::shared_ptr<const rpc_error> error{};  ///< in its place
    std::string text{};                        ///< all of it as JSON, where that is there already

    void serialize();  ///< makes the text, of which result and params are a part from then on
    std::string take_text();
};

/// Sends JSON-RPC messages to one peer, in order. Streamable HTTP, HTTP+SSE and stdio implement it.
/// Bounded: send() suspends while the peer's buffer is full and so slows the producer.
class message_sink {
public:
    virtual ~message_sink() = default;

    /// Returns false when the peer is gone for good and the message was dropped (no later send can succeed either).
    virtual awaitable<bool> send(outgoing message) = 0;

    /// Whether the sink never needs the text of a message, so that nothing is serialized for it.
    virtual bool takes_values() const { return false; }

    /// For a sink that answers one request: the transport may end the stream and let the client resume it
    /// (SSE polling of revision 2025-11-25). Does nothing elsewhere.
    virtual void close_stream_for_polling() {}

    /// A request that was answered here is over: its response has been sent, or it has none because it was cancelled.
    virtual void request_ended() {}
};

}  // namespace cmcp
