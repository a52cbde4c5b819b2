#pragma once

#include <cstddef>

namespace cmcp {

/// Memory that all clients of a server share: messages that wait for them, messages kept for Last-Event-ID, bodies of
/// requests. Streams and logs follow the budget: near the limit a stream holds one message, and a log forgets.
struct memory_budget {
    std::size_t limit = 256u << 20;
    std::size_t used = 0;

    bool exhausted() const { return used >= limit; }
    std::size_t for_logs() const { return limit / 2; }  ///< the rest is for messages that wait to be sent
};

}  // namespace cmcp
