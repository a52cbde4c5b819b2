#pragma once

#include "async/asio.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

namespace cmcp {

/// Lets coroutines wait until something has changed; each looks for itself whether it was what it waits for. Io thread
/// only.
class change_signal {
public:
    using time_point = asio::steady_timer::time_point;

    explicit change_signal(asio::any_io_executor executor) : timer_(std::move(executor), time_point::max()) {}

    void notify() { timer_.cancel(); }

    /// Throws operation_aborted when the coroutine is cancelled.
    awaitable<> wait()
    {
        co_await timer_.async_wait(as_tuple);
        auto state = co_await asio::this_coro::cancellation_state;
        if (state.cancelled() != asio::cancellation_type::none)
            throw boost::system::system_error(asio::error::operation_aborted);
    }

private:
    asio::steady_timer timer_;
};

}  // namespace cmcp
