#pragma once

#include "async/asio.hpp"

#include <chrono>
#include <vector>

namespace cmcp {

/// A change that one part of the server waits for and another part makes. notify() wakes every coroutine that waits at
/// that moment. The event remembers nothing, so a coroutine looks at its own condition in a loop:
///
///     while (!done_) co_await changed_.wait();
///
/// No notification is lost between the look and the wait: an event is used on the io thread alone, and the wait begins
/// in the turn in which the coroutine looked.
class event {
public:
    using clock = std::chrono::steady_clock;

    event() = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    ~event();

    void notify();

    /// Until the next notify(); false when `limit` passes first. Throws operation_aborted when the coroutine is
    /// cancelled, even by the side of a notify(), and when the event is destroyed meanwhile.
    awaitable<bool> wait(clock::time_point limit = clock::time_point::max());

private:
    struct waiter;
    std::vector<waiter*> waiting_;
};

}  // namespace cmcp
