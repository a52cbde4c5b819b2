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
    /// `patience`: how long the peer may be silent. `done`: there is no body.
    body_stream(client_socket& peer, request_parser parser, std::chrono::milliseconds patience, bool done);

    /// The next piece, never empty, or nothing at the end. complete() tells whether the whole body came.
    awaitable<std::optional<std::string>> next();

    bool complete() const { return done_; }
    std::optional<std::uint64_t> announced() const;  ///< bytes, by Content-Length

private:
    client_socket& peer_;
    request_parser parser_;
    std::chrono::milliseconds patience_;
    bool done_;
    bool cut_ = false;
};

}  // namespace cmcp
