#include "async/event.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp {

// Lives in the frame of the coroutine that waits, which may be destroyed at any time, also after its event.
struct event::waiter {
    waiter(event& entered, const asio::any_io_executor& executor, clock::time_point limit)
        : in(&entered), timer(executor, limit)
    {
        in->waiting_.push_back(this);
    }
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter()
    {
        if (in != nullptr) std::erase(in->waiting_, this);
    }

    event* in;  // null: the event is gone
    asio::steady_timer timer;
    bool notified = false;
};

event::~event()
{
    for (auto* each : waiting_) {
        each->in = nullptr;
        each->timer.cancel();
    }
}

void event::notify()
{
    for (auto* each : waiting_) {
        each->notified = true;
        each->timer.cancel();
    }
}

awaitable<bool> event::wait(clock::time_point limit)
{
    const auto executor = co_await asio::this_coro::executor;
    waiter self(*this, executor, limit);
    co_await self.timer.async_wait(as_tuple);
    const auto state = co_await asio::this_coro::cancellation_state;
    if (self.in == nullptr || state.cancelled() != asio::cancellation_type::none)
        throw boost::system::system_error(asio::error::operation_aborted);
    co_return self.notified;
}

}  // namespace cmcp
