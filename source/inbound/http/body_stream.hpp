#pragma once

#include "http/client_socket.hpp"
#include "http/request_parser.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cmcp {

/// The body of a request that its route reads piece by piece, so a body of any size is taken. Lives on its connection.
class body_stream {
public:
    enum class peer_state {
        done,   ///< there is no body
        sends,  ///< it is on its way
        waits,  ///< for an answer 100, before it sends any (RFC 9110 section 10.1.1)
    };
    /// `patience`: how long the peer may be silent.
    body_stream(client_socket& peer, request_parser parser, std::chrono::milliseconds patience, peer_state state);

    /// The next piece, never empty, or nothing at the end. complete() tells whether the whole body came.
    awaitable<std::optional<std::string>> next();

    bool complete() const { return done_; }
    bool begun() const { return begun_; }            ///< next() was called, and there is a body
    std::optional<std::uint64_t> announced() const;  ///< bytes, by Content-Length

private:
    awaitable<> begin();

    client_socket& peer_;
    request_parser parser_;
    std::chrono::milliseconds patience_;
    bool done_;
    bool waits_;
    bool begun_ = false;
    bool cut_ = false;
};

}  // namespace cmcp
