#pragma once

#include "http/exchange.hpp"
#include "http/relayed_fields.hpp"
#include "streams/byte_stream.hpp"

#include <chrono>
#include <string>

namespace cmcp {

/// The parts of a request and its answer that pass between a client and the server behind this one.
class relay_rules {
public:
    virtual ~relay_rules() = default;

    /// The request as the other server gets it, but for its framing and body.
    virtual relayed_request_head request() const = 0;

    /// Status line and fields of its answer as the client gets it, without framing and the empty line.
    virtual std::string head_of_answer(const relayed_answer_head& from) const = 0;

    /// How sentences call the other server: "The program on this port".
    virtual std::string subject() const = 0;

    /// From the end of the request to the header of its answer; zero: any time.
    virtual std::chrono::seconds patience() const = 0;

    /// Whether a body waits until the other server asks for it (answer 100), so that none is lost with a refusal.
    virtual bool asks_for_body() const { return false; }

    /// The name of the server that has what the request is about, where the answer is one that names it, which the
    /// client does not get. Empty: it is an answer for the client.
    virtual std::string other_place(const relayed_answer_head&) const { return {}; }
};

struct relay_end {
    std::string failure;        ///< why there is no answer, a sentence; empty: there is one, or the client is gone
    bool may_go_on = false;     ///< the connection is good for another request
    std::string other_place{};  ///< that the answer named
};

/// Brings a request to another server, and its answer to the client, both as streams: each side waits for the other's
/// slowness. After an accepted WebSocket the bytes of both sides pass as they are, until either ends. An answer that
/// breaks off ends the client's connection. `to` is closed, or good for another request.
awaitable<relay_end> relay(exchange& x, byte_stream& to, const relay_rules& by);

}  // namespace cmcp
