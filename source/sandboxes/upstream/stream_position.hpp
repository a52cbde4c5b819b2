#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace cmcp {

/// How far an answer of events was read, so that its server can go on with it on another connection.
struct stream_position {
    std::string last_event;                            ///< its id; empty: the server gave none that can be sent back
    std::optional<std::chrono::milliseconds> retry{};  ///< how long the server wants to be left alone
    std::size_t received = 0;                          ///< bytes, on all connections
};

}  // namespace cmcp
