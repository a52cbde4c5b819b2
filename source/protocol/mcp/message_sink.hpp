#pragma once

#include "async/asio.hpp"
#include "jsonrpc/json.hpp"

#include <memory>
#include <optional>
#include <string>

namespace cmcp {

/// A JSON-RPC message on its way to a peer.
struct outgoing {
    enum class kind { response, notification, request };

    std::string text;  ///< serialized JSON-RPC message
    kind what = kind::notification;
    int error_code = 0;     ///< of an error response, so that a transport can choose its HTTP status
    std::string request{};  ///< the id that a response answers, as JSON

    // Instead of the text, for a sink that takes values.
    std::optional<json::object> result{};  ///< of a response
    std::string method{};                  ///< of a notification
    json::object params{};                 ///< the same
};

/// Sends JSON-RPC messages to one peer, in order. Streamable HTTP, HTTP+SSE and stdio implement it.
/// Bounded: send() suspends while the peer's buffer is full and so slows the producer.
class message_sink {
public:
    virtual ~message_sink() = default;

    /// Returns false when the peer is gone for good and the message was dropped (no later send can succeed either).
    virtual awaitable<bool> send(outgoing message) = 0;

    /// Whether send() is given results and notifications as they are, because the sink writes them in a form of its
    /// own.
    virtual bool takes_values() const { return false; }

    /// For a sink that answers one request: the transport may end the stream and let the client resume it
    /// (SSE polling of revision 2025-11-25). Does nothing elsewhere.
    virtual void close_stream_for_polling() {}

    /// A request that was answered here is over: its response has been sent, or it has none because it was cancelled.
    virtual void request_ended() {}
};

}  // namespace cmcp
