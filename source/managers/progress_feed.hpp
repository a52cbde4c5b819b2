#pragma once

#include "async/asio.hpp"
#include "mcp/request_io.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <string>

namespace cmcp {

/// Turns a run's output into notifications/progress: the first text at once, then what has come together at most every
/// `interval`, and a sign of life when nothing was sent for `heartbeat`. Bounded: add() waits while much is unsent.
class progress_feed {
public:
    struct pace {
        std::chrono::milliseconds interval{50};
        std::chrono::milliseconds heartbeat{10'000};
        std::size_t unsent = 1 << 20;       ///< bytes that may wait before the producer must
    };

    progress_feed(asio::any_io_executor executor, request_io& io) : progress_feed(executor, io, pace()) {}
    progress_feed(asio::any_io_executor executor, request_io& io, pace chosen);

    awaitable<> add(std::string text);      ///< valid UTF-8
    void finish();                          ///< no more text: run() sends the rest and returns

    /// Sends until finish() was called and all is sent; runs beside the producer.
    awaitable<> run();

private:
    using clock = std::chrono::steady_clock;

    clock::time_point next_time() const;
    awaitable<> send(std::string message);
    std::string sign_of_life() const;

    request_io& io_;
    pace pace_;
    asio::steady_timer wake_;               // cancelled when there is something to do
    asio::steady_timer drained_;            // cancelled when unsent text was taken
    std::string unsent_;
    bool finished_ = false;
    clock::time_point began_;
    clock::time_point last_sent_;
    bool sent_any_ = false;
};

}  // namespace cmcp
