#pragma once

#include "async/asio.hpp"
#include "http/exchange.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace cmcp {

class websocket;

/// The WebSockets of one server.
class websocket_register {
public:
    void abort_all();  ///< their pending operations fail
    std::size_t size() const { return open_.size(); }

private:
    friend class websocket;
    std::set<websocket*> open_;
};

/// A connection that has become a WebSocket (RFC 6455). One coroutine may read while another one writes. A peer that
/// answers no ping for some minutes is gone.
class websocket {
public:
    struct message {
        std::string bytes;
        bool is_text = false;
    };
    static constexpr std::size_t longest_reason = 123;  ///< of an end

    struct terms {
        std::string_view protocol{};              ///< of those that the client offers; empty: none
        std::size_t longest_message = 64 * 1024;  ///< bytes that a peer may send at once
    };

    /// Why the request cannot become one, with the status to answer; nothing: it can.
    static std::optional<http_reply> refuse(const http_request& request);

    static bool offers(const http_request& request, std::string_view protocol);

    /// Answers the handshake of a request that refuse() lets pass, and takes its connection. Null: the peer is gone.
    static awaitable<std::unique_ptr<websocket>> accept(exchange& x, websocket_register& all, terms of);
    static awaitable<std::unique_ptr<websocket>> accept(exchange& x, websocket_register& all);

    /// Answers with the refusal; to a page that offers the protocol with a message {"error": sentence}, because a
    /// browser keeps the refusal of a handshake to itself.
    static awaitable<> turn_away(exchange& x, websocket_register& all, http_reply refusal, std::string_view protocol);

    ~websocket();
    websocket(const websocket&) = delete;
    websocket& operator=(const websocket&) = delete;

    awaitable<std::optional<message>> read();  ///< nothing: it is closed, or broken
    awaitable<bool> write(std::string_view bytes, bool as_text = false);

    /// A ping with this number. While read() goes on, answered() is the number of the last ping that the peer answered:
    /// what came before that answer was sent before the peer saw what was written behind the ping.
    awaitable<bool> ping(std::uint32_t number);
    std::uint32_t answered() const;

    awaitable<> close(std::uint16_t code, std::string_view reason);  ///< codes of RFC 6455 section 7.4
    void abort();

private:
    struct connection;
    websocket(std::unique_ptr<connection> taken, websocket_register& all);

    std::unique_ptr<connection> connection_;
    websocket_register& all_;
};

}  // namespace cmcp
